//go:build linux && !portable

package checkpoint_test

// transports lists the transports of the tests. With rdma, each rank is a node of its own.
var transports = []string{"shm", "rdma"}
