// Package distance starts a run of a benchmark only when the two processors of a virtual machine have a common
// cache, and repeats the run if the processors have no common cache after the run.
//
// The host may run the two virtual processors on cores that share a cache, and a second later on cores that do
// not. All messages then take about twice as long. If the distance changes between two
// runs, their figures cannot be compared. On a machine with more processors, only the distance of the first two is
// measured.
package distance
