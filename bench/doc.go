// Package bench contains the tests of the benchmarks. The benchmarks are the programs in its subdirectories.
//
// Unstable: any release may change this package, also after v1.
package bench
