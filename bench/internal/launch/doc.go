// Package launch builds gorun and the benchmarks and runs jobs with a timeout,
// for the comparison with other systems and for the tests of the benchmarks.
package launch
