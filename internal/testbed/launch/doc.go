// Package launch builds gorun and programs of the module and runs jobs of them with a
// time limit, for tests and for the comparison with other systems.
package launch
