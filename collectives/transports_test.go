//go:build linux && !portable

package collectives_test

// transports lists the transports over which the operations are tested. With rdma, each rank is a node
// of its own.
var transports = []string{"shm", "rdma"}
