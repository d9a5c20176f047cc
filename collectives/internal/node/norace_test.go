//go:build !race

package node_test

// stride is between two looks at which a member pauses.
const stride = 1
