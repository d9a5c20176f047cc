// Package cgroup finds the cgroup v2 of this process. It also kills the processes of cgroups that were made
// below that cgroup, and removes such cgroups. gorun makes a cgroup for each job, and the clusters of tests
// also have a cgroup.
package cgroup
