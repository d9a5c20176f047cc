package runtime

import (
	"log/slog"
	"net/netip"

	"github.com/gorun-hpc/gorun/runtime/internal/port"
	"github.com/gorun-hpc/gorun/transport"
)

// fabric is what connects the ranks of different nodes: transport/rdma with its
// provider. It is an interface because programs for one node can be built without it and
// without what it imports, see fabric_none.go. But for close it is called with the
// engine's lock held.
type fabric interface {
	// way is what the engine polls.
	way() transport.Transport
	// address is where this rank listens, by provider.
	address() netip.AddrPort
	provider() string
	// known reports whether the rank has exchanged messages with a peer or tried to.
	// explain says how it reaches a peer; silence and search say why it does not reach it,
	// "" if it does.
	known(peer int) bool
	explain(peer int) string
	silence(peer int) string
	search(peer int) string
	// actors are those of the connections, actorSystem the system that they live in.
	actors() []port.Actor
	actorSystem(log slog.Handler) any
	// strangers lists refused connections and requests. Any goroutine may call it.
	strangers() []string
	// close leaves the network. Peers see an orderly end.
	close() error
}
