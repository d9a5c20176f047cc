//go:build !race

package node_test

// stride is the number of looks (calls of Memory.Signal or Memory.Await, see schedule) between two
// looks after which the tests let a member pause.
const stride = 1
