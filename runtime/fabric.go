package runtime

import (
	"github.com/gorun-hpc/gorun/bootstrap"
	"github.com/gorun-hpc/gorun/transport"
)

// fabric connects the ranks of different nodes. rdmaFabric implements it with transport/rdma and its
// providers, and simulatedFabric implements it for simulations. It is an interface so that programs for
// one node can be built without transport/rdma and its imports, see fabric_none.go. Known and Explain
// are called with the engine's lock held.
type fabric interface {
	// polled returns the transport that the engine polls. If that transport is closed, this rank leaves
	// the network, and the connections end in an orderly way at the peers.
	polled() transport.Transport
	// abandon leaves the network without waiting for the peers.
	abandon() error
	// fill writes the addresses at which this rank listens into a card.
	fill(c *bootstrap.Card)
	// Known reports whether this rank has exchanged messages with a peer or has tried to. Explain
	// describes how this rank reaches a peer.
	Known(peer int) bool
	Explain(peer int) string
}
