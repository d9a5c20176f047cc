// Package bench tests the benchmarks, which are the programs in the folders below it.
//
// Unstable: any release may change this package, also after v1.
package bench
