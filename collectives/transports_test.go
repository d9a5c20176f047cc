//go:build linux && !portable

package collectives_test

// transports are those over which the operations are tested; rdma makes each rank a node.
var transports = []string{"shm", "rdma"}
