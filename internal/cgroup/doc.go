// Package cgroup finds the cgroup v2 of this process, and kills the processes of cgroups that were
// made below it and removes them. gorun makes one for each job, and the clusters in tests have one, too.
package cgroup
