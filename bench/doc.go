// Package bench contains the tests of the benchmarks, which are the programs in the directories below it.
//
// Unstable: any release may change this package, also after v1.
package bench
