// Package distance repeats a run of a benchmark if the two processors of a virtual machine had no common cache
// before or after the run.
//
// The host may run the two virtual processors on cores that share a cache, and a second later on cores that do
// not. All messages then take about twice as long. If the distance changes between two
// runs, their figures cannot be compared.
package distance
