//go:build race

package node_test

// stride says after which looks (calls of Memory.Signal or Memory.Await, see schedule) the tests let a member pause:
// the first one, and every stride-th one from there. It is larger than without the race detector,
// because the race detector makes the tests ten times slower.
const stride = 7
