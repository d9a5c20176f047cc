package runtime

import (
	"cmp"
	"context"
	"fmt"

	"github.com/gorun-hpc/gorun/bootstrap"
	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/shm"
)

// meet hands in this rank's card and waits for those of the others.
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
	if err := w.network.met(w, book); err != nil {
		return err
	}
	w.engine.Prepare(w.shm.Partners())
	return nil
}

// gap stands for the transport to a rank that none leads to. Connections are
// made on the first message: that is when the lack of one is an error.
type gap struct {
	*shm.Transport // implements the methods that are called for every transport
	world          *World
}

// Endpoint implements transport.Transport.
func (g gap) Endpoint(peer int) (transport.Endpoint, error) { return nil, g.world.apart(peer) }

// apart says why nothing leads to a rank. It is transport.ErrNotSupported.
func (w *World) apart(peer int) error {
	why := fmt.Errorf("%w: ranks %d and %d are on different nodes (%s) and no transport connects them: %w",
		transport.ErrNotSupported, w.Rank(), peer, w.hosts(w.Rank(), peer), w.unconnected(peer))
	return &transport.OpError{Op: "connect", Transport: "network", Peer: peer, Err: why}
}

// hosts names the hosts of two ranks as well as the book knows them.
func (w *World) hosts(a, b int) string {
	name := func(rank int) string { return cmp.Or(w.hostOf(rank), "unknown") }
	return name(a) + ", " + name(b)
}

// unconnected says why the network does not lead to a rank.
func (w *World) unconnected(peer int) error {
	if w.network.fabric == nil {
		return w.network.why
	}
	_, err := w.card(peer)
	return err
}
