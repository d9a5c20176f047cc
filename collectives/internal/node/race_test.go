//go:build race

package node_test

// stride is the number of reads of a word after which a waiting member pauses: the race
// detector makes everything ten times slower.
const stride = 7
