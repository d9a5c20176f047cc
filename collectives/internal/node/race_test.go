//go:build race

package node_test

// stride is the distance between two of the looks (see schedule) after which the tests let a member
// pause. It is larger than without the race detector, which makes the tests ten times slower.
const stride = 7
