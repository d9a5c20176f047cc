//go:build !race

package node_test

// stride is the distance between two of the reads at which a member pauses.
const stride = 1
