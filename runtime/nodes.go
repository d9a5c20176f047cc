package runtime

import (
	"cmp"
	"context"
	"fmt"

	"github.com/gorun-hpc/gorun/bootstrap"
	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/shm"
)

// meet publishes this rank's card, waits for the book of all ranks' cards, passes the book to the
// network, and starts the engine.
func (w *World) meet(session *bootstrap.Session) error {
	card := session.Card()
	w.network.fill(&card)
	book, err := session.Exchange(context.Background(), card)
	if w.job.Nodes > 1 {
		w.book.Store(book)
	}
	if err != nil {
		return err
	}
	// Nothing polls before met has decided whether connections are encrypted.
	if err := w.network.met(w, book); err != nil {
		return err
	}
	w.engine.Start()
	w.engine.Prepare(w.shm.Partners())
	return nil
}

// gap takes the place of the transport to a rank that no transport reaches. Its Endpoint fails. The
// engine calls Endpoint when an operation first names the rank, so the lack of a transport is no error
// until then.
type gap struct {
	*shm.Transport // implements the methods that are called for every transport
	world          *World
}

// Endpoint implements transport.Transport.
func (g gap) Endpoint(peer int) (transport.Endpoint, error) { return nil, g.world.apart(peer) }

// apart returns the error that says why no transport reaches a rank. It wraps
// transport.ErrNotSupported.
func (w *World) apart(peer int) error {
	why := fmt.Errorf("%w: ranks %d and %d are on different nodes (%s) and no transport connects them: %w",
		transport.ErrNotSupported, w.Rank(), peer, w.hosts(w.Rank(), peer), w.unconnected(peer))
	return &transport.OpError{Op: "connect", Transport: "network", Peer: peer, Err: why}
}

// hosts returns the names of the hosts of two ranks, "unknown" for a host that is not in the book.
func (w *World) hosts(a, b int) string {
	name := func(rank int) string { return cmp.Or(w.hostOf(rank), "unknown") }
	return name(a) + ", " + name(b)
}

// unconnected returns the reason why the network does not reach a rank.
func (w *World) unconnected(peer int) error {
	if w.network.fabric == nil {
		return w.network.why
	}
	_, err := w.card(peer)
	return err
}
