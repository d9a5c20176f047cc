//go:build race

package node_test

// stride is between two looks at which a member pauses: the race detector slows
// everything tenfold.
const stride = 7
