package runtime

import (
	"github.com/gorun-hpc/gorun/bootstrap"
	"github.com/gorun-hpc/gorun/transport"
)

// fabric connects the ranks of different nodes: transport/rdma with its provider. It is an
// interface because programs for one node can be built without it and without what it
// imports, see fabric_none.go. The engine's lock is held when it is called.
type fabric interface {
	// way is what the engine polls. Its Close leaves the network: peers see an orderly end.
	way() transport.Transport
	// fill writes into a card where this rank listens.
	fill(c *bootstrap.Card)
	// Known reports whether the rank has exchanged messages with a peer or tried to.
	// Explain says how it reaches a peer.
	Known(peer int) bool
	Explain(peer int) string
}
