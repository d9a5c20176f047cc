package runtime

import (
	"net/netip"

	"github.com/gorun-hpc/gorun/transport"
)

// fabric connects the ranks of different nodes: transport/rdma with its provider. It is an
// interface because programs for one node can be built without it and without what it
// imports, see fabric_none.go. The engine's lock is held when it is called.
type fabric interface {
	// way is what the engine polls. Its Close leaves the network: peers see an orderly end.
	way() transport.Transport
	// Address is where this rank listens, by provider.
	Address() netip.AddrPort
	provider() string
	// Known reports whether the rank has exchanged messages with a peer or tried to.
	// Explain says how it reaches a peer.
	Known(peer int) bool
	Explain(peer int) string
}
