//go:build linux && !portable

package checkpoint_test

// transports are those over which copies go; rdma makes each rank a node.
var transports = []string{"shm", "rdma"}
