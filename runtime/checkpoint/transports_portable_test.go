//go:build !linux || portable

package checkpoint_test

// transports lists the transports of the tests: only shm, because the network transport needs
// Linux.
var transports = []string{"shm"}
