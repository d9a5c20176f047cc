// Command mutation measures which mistakes the tests of a package catch. It applies plausible
// mistakes, called breaks, to the package, one at a time, and runs the package's tests on each.
//
//	go run ./internal/mutation [-v] [-timeout D] [-only REGEXP] [-by PACKAGE-DIR] [PACKAGE-DIR ...]
//
// With -by, mutation runs the tests of another package, such as internal/simulate, on the
// breaks.
//
// Without a directory, mutation tries the breaks of every package that has a table of breaks. For each break,
// it prints whether a test caught the break, the first test that failed, and the seconds that the tests took.
// At the end it prints the share of the breaks that were caught. The exit code is 1 if a break was not caught
// or did not build, or if the tests fail without a break.
//
// mutation does not change the tree: it writes the changed files to a temporary directory, and the
// go command reads them through -overlay. When a run is interrupted, mutation removes that directory and kills
// the tests. Tests that build a program of the module build it from the changed files, too, because GOFLAGS
// contains the overlay. Tests that read a source file as text see the file of the tree.
//
// The tables are in internal/mutation/breaks, one for each package. Package breaks describes their format.
package main
