//go:build !linux || portable

package collectives_test

// transports lists the transports over which the operations are tested. The transport rdma exists on
// Linux only.
var transports = []string{"shm"}
