// Package cgroup finds the cgroup v2 of this process, and ends those that were made below
// it: gorun has one for each job, and the clusters of tests have one.
package cgroup
