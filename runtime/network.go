package runtime

import (
	"errors"
	"fmt"
	"os"

	"github.com/gorun-hpc/gorun/bootstrap"
	"github.com/gorun-hpc/gorun/transport"
)

// Values of bootstrap.EnvTransport.
const (
	transportAuto = "auto"
	transportShm  = "shm"
	transportRDMA = "rdma"
)

// network connects a rank with the ranks that it does not reach by shared memory.
type network struct {
	// fabric is nil if there is no network. In this case the field why has the reason.
	fabric fabric
	why    error
	// forced is true if even ranks on one host use the network and not shared memory. Each rank is then a node of
	// its own.
	forced bool
}

// forcesNetwork reports whether all ranks must communicate by the network and not by shared memory.
func forcesNetwork() bool { return os.Getenv(bootstrap.EnvTransport) == transportRDMA }

// openNetwork opens the network between the nodes of a job. If the network cannot be opened, the
// result is an error only with -transport rdma. Without that option, the ranks of a node still reach
// each other. An invalid value of bootstrap.EnvTransport is an error, too. A simulated job ignores this
// variable and uses its own network.
func openNetwork(w *World, secret [32]byte) (network, error) {
	if w.local.isSimulated() {
		n := w.local.network(w.job.Generation)
		return network{fabric: &simulatedFabric{network: n, rank: w.Rank(), lanes: n.Transport(w.Rank())}, forced: true}, nil
	}
	n := network{forced: forcesNetwork()}
	switch choice := os.Getenv(bootstrap.EnvTransport); {
	case choice == transportShm:
		n.why = fmt.Errorf("%s=%s (gorun -transport %s) excludes the network", bootstrap.EnvTransport, choice, choice)
		return n, nil
	case choice != "" && choice != transportAuto && choice != transportRDMA:
		return n, fmt.Errorf("bad %s: %q is none of %s, %s and %s",
			bootstrap.EnvTransport, choice, transportAuto, transportShm, transportRDMA)
	case w.job.Size == 1, !n.forced && w.job.Nodes == 1:
		n.why = errors.New("all ranks are on one node")
		return n, nil
	}
	n.fabric, n.why = w.openFabric(n.forced, secret)
	if n.forced && n.why != nil {
		return n, n.why
	}
	return n, nil
}

// hostOf returns the name of a rank's host, or "" if it is not known.
func (w *World) hostOf(rank int) string {
	if book := w.book.Load(); book != nil {
		if card, ok := book.Card(rank); ok {
			return card.Host
		}
	}
	return ""
}

// card returns the card of a rank. It returns an error if this rank does not have the card, or if the
// card has no network address.
func (w *World) card(rank int) (bootstrap.Card, error) {
	book := w.book.Load()
	if book == nil {
		return bootstrap.Card{}, errors.New("the cards of the ranks have not been received yet")
	}
	card, ok := book.Card(rank)
	switch {
	case !ok:
		return card, fmt.Errorf("rank %d ended before it published its address", rank)
	case len(card.Addresses) == 0 && len(card.Data) == 0: // neither TCP nor an adapter
		return card, fmt.Errorf("rank %d on %s has no address: that host has no suitable network interface", rank, card.Host)
	}
	return card, nil
}

// arena returns the Arena that the rank's allocator uses. This is own, the rank's range of node memory,
// unless the fabric replaces it. A fabric replaces own if adapters keep parts of the range
// registered: Discard of the replacement first ends these registrations.
func (n *network) arena(own transport.Arena) transport.Arena {
	if f, ok := n.fabric.(interface {
		arena(transport.Arena) transport.Arena
	}); ok {
		return f.arena(own)
	}
	return own
}

// fill writes the network addresses at which this rank listens into c, the rank's card.
func (n *network) fill(c *bootstrap.Card) {
	if n.fabric == nil {
		return
	}
	n.fabric.fill(c)
}

// met passes the book of all ranks' cards to the network, before any connection is made.
func (n *network) met(w *World, book *bootstrap.Book) error {
	if f, ok := n.fabric.(interface {
		met(*World, *bootstrap.Book) error
	}); ok {
		return f.met(w, book)
	}
	return nil
}

// transports returns the transports that the engine polls.
func (w *World) transports() []transport.Transport {
	switch {
	case w.network.fabric == nil:
		return []transport.Transport{w.shm}
	case w.network.forced:
		return []transport.Transport{w.network.fabric.polled()}
	}
	return []transport.Transport{w.shm, w.network.fabric.polled()}
}

// route returns the transport that reaches a rank, or a gap (see nodes.go) if no transport does.
// The engine asks for routes after Start, that is, after the exchange of cards (see World.meet). A Local
// without restarts exchanges no cards. If the exchange has failed, World.abandon makes the engine ask for
// routes without a book.
func (w *World) route(peer int) transport.Transport {
	switch {
	case !w.network.forced && w.shm.Reach(peer) == nil:
		return w.shm
	case w.network.fabric == nil:
		return gap{w.shm, w}
	}
	if !w.local.isSimulated() && w.book.Load() != nil {
		if _, err := w.card(peer); err != nil {
			return gap{w.shm, w}
		}
	}
	return w.network.fabric.polled()
}

// abandon leaves the network without waiting for the peers, because they also leave it or are lost.
func (n *network) abandon() error {
	if n.fabric == nil {
		return nil
	}
	return n.fabric.abandon()
}

// close leaves the network. Its connections end in an orderly way at the peers.
func (n *network) close() error {
	if n.fabric == nil {
		return nil
	}
	return n.fabric.polled().Close()
}
