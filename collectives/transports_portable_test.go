//go:build !linux || portable

package collectives_test

// transports are those over which the operations are tested: the network is Linux's.
var transports = []string{"shm"}
