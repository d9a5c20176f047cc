// Package simulation predicts the cost of the collective algorithms on a network that a Model
// describes. It runs the same functions that run over real networks, but in virtual time. So the
// available machines do not limit the number of ranks. The command bench/simulate runs simulations.
// docs/simulation.md compares predictions with measurements.
//
// Unstable: any release may change this package, also after v1.
package simulation
