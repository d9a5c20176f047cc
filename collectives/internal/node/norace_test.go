//go:build !race

package node_test

// stride is the distance between two of the looks (see schedule) after which the tests let a member
// pause.
const stride = 1
