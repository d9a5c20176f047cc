// Package program has the programs of simulated jobs. Each has an oracle that checks the
// behaviour of gorun.
package program
