// Package distance repeats runs of benchmarks during which the processors of a virtual machine were far from each
// other.
//
// The host of a virtual machine may run its two processors on cores with a common cache in one second, and on cores
// without one in the next second. All messages then take about twice as long. If the distance changes between two
// runs, their figures cannot be compared.
package distance
