// Command mutation measures what the tests of a package catch: it makes plausible
// mistakes in the package, one at a time, and runs the package's own tests on each.
//
//	go run ./internal/mutation [-v] [-timeout D] [-only REGEXP] [-by PACKAGE-DIR] [PACKAGE-DIR ...]
//
// With -by the tests of another package are tried on the breaks, as those of
// internal/simulate.
//
// Without a directory it takes every package that has a table of breaks. For each break
// it prints whether a test caught it, the first test that failed, and the seconds it
// took; at the end it prints the share caught. It exits with 1 when a break was not
// caught or did not build, or when the tests fail without a break.
//
// The tree is not changed: the changed files are in a temporary directory, and the go
// command reads them through -overlay. A run that is interrupted removes that directory and
// ends its tests. Tests that build a program of the module build it from the changed files,
// too, because GOFLAGS contains the overlay. Tests that read a source file as text see the
// file of the tree.
//
// The tables are in internal/mutation/breaks, one for each package; package breaks
// describes their format.
package main
