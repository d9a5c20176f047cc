// Package simulation predicts what the collective algorithms cost on a network that is described by
// a model: for more ranks than there are machines, in virtual time, by the functions that run
// over real networks. bench/simulate is its program, docs/simulation.md says what the
// predictions are worth.
//
// Unstable: any release may change this package, also after v1.
package simulation
