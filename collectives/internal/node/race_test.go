//go:build race

package node_test

// stride is the distance between two of the reads at which a member pauses. It is larger than
// without the race detector, which makes the tests ten times slower.
const stride = 7
