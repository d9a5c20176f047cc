// Package cgroup finds the cgroup v2 of this process. It also kills the processes of cgroups that were made
// below that cgroup, and removes such cgroups. gorun makes a cgroup for a job if the system
// permits it, and the emulated hosts of tests are in a cgroup (internal/testbed/nscluster).
package cgroup
