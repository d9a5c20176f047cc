// Package program has the programs of simulated jobs, each with an oracle that says what
// gorun has to do.
package program
