//go:build !linux || portable

package checkpoint_test

// transports are those over which copies go: the network is Linux's.
var transports = []string{"shm"}
