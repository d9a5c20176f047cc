package runtime

import (
	"fmt"
	"io"
	"strings"

	"github.com/gorun-hpc/gorun/bootstrap"
	"github.com/gorun-hpc/gorun/runtime/internal/port"
	"github.com/gorun-hpc/gorun/transport"
)

// Limits of the text that a rank prints about its peers with GORUN_EXPLAIN.
const (
	// explainAllMax is the size of a World up to which every peer is listed. In a larger World,
	// only the peers with which the rank has exchanged messages or has tried to are listed.
	explainAllMax = 8
	// explainLinesMax bounds the number of peers in the list.
	explainLinesMax = 16
	// explainActorsMax bounds the number of actors in the tree, and of busy actors in the report of blocked operations.
	explainActorsMax = 64
)

// Explain describes in one line how this rank reaches a peer: the lane, the path of large messages,
// and why faster lanes or paths were not chosen.
func (w *World) Explain(peer int) string {
	switch {
	case peer < 0 || peer >= w.Size():
		return fmt.Sprintf("rank %d: not in a world of %d", peer, w.Size())
	case peer == w.Rank():
		return fmt.Sprintf("rank %d: this rank itself, one copy", peer)
	}
	var line string
	if err := w.engine.Query(func() { line = w.explainPeer(peer) }); err != nil {
		return fmt.Sprintf("rank %d: %v", peer, err)
	}
	return line
}

// explainPeer returns the line about another rank. The engine's lock is held.
func (w *World) explainPeer(peer int) string {
	r := w.route(peer)
	switch {
	case r == transport.Transport(w.shm):
		return w.shm.Explain(peer) + "; not rdma: the rank is on this node"
	case w.network.fabric != nil && r == w.network.fabric.polled():
		return w.network.fabric.Explain(peer) + "; not shm: " + w.notShared(peer)
	}
	return fmt.Sprintf("rank %d: %v", peer, w.apart(peer))
}

// notShared returns the reason why messages to a rank do not go through shared memory.
func (w *World) notShared(peer int) string {
	if w.network.forced {
		return bootstrap.EnvTransport + "=" + transportRDMA
	}
	return "the ranks are on different nodes (" + w.hosts(w.Rank(), peer) + ")"
}

// met reports whether this rank has exchanged messages with a peer or has tried to.
func (w *World) met(peer int) bool {
	return w.shm.Known(peer) || w.network.fabric != nil && w.network.fabric.Known(peer)
}

// explainTo writes a line for each listed peer (see explainAllMax), and the lines about the network, the adapters,
// collectives and actors. It writes them in one piece, so that the lines of several ranks do not mix.
func (w *World) explainTo(out io.Writer) {
	var b strings.Builder
	err := w.engine.Query(func() {
		listed, more := 0, 0
		for peer := range w.Size() {
			switch {
			case peer == w.Rank() || w.Size() > explainAllMax && !w.met(peer):
			case listed == explainLinesMax:
				more++
			default:
				listed++
				fmt.Fprintf(&b, "rank %d: to %s\n", w.Rank(), w.explainPeer(peer))
			}
		}
		if more > 0 {
			fmt.Fprintf(&b, "rank %d: ... and %d more\n", w.Rank(), more)
		}
		for _, line := range w.network.explain() {
			fmt.Fprintf(&b, "rank %d: %s\n", w.Rank(), line)
		}
	})
	if err != nil {
		fmt.Fprintf(&b, "rank %d: no explanation: %v\n", w.Rank(), err)
	}
	for _, line := range append(w.network.devices(w.job.LocalRank == 0), w.explained()...) {
		fmt.Fprintf(&b, "rank %d: %s\n", w.Rank(), line)
	}
	explainActors(&b, w.Rank(), w.actorTree())
	_, _ = io.WriteString(out, b.String()) // an error means that standard error is closed
}

// explained returns the lines of the actor system and of the attributes of the World's communicator
// that are Explainers.
func (w *World) explained() []string {
	k := &w.actors
	k.mu.Lock()
	all := []any{k.value}
	k.mu.Unlock()
	var lines []string
	for _, v := range append(all, w.comm.core.attributes.values()...) {
		if e, ok := v.(Explainer); ok {
			lines = append(lines, e.Explain()...)
		}
	}
	return lines
}

// explain returns lines about how memory is registered, and about refused connections and requests.
// The engine's lock is held.
func (n *network) explain() []string {
	if f, ok := n.fabric.(interface{ explain() []string }); ok {
		return f.explain()
	}
	return nil
}

// devices returns the lines about the host's adapters. Only one rank per host prints them. The
// argument first is true only at that rank. The engine's lock is not held, because adapters may
// answer slowly.
func (n *network) devices(first bool) []string {
	if f, ok := n.fabric.(interface{ devices() []string }); ok && first {
		return f.devices()
	}
	return nil
}

// explainActors writes the tree of the actors of a rank: one line for each actor, indented below
// its parent.
func explainActors(b *strings.Builder, rank int, all []port.Actor) {
	if len(all) == 0 {
		return
	}
	fmt.Fprintf(b, "actors of rank %d:\n", rank)
	for i, a := range all {
		if i == explainActorsMax {
			fmt.Fprintf(b, "  ... and %d more\n", len(all)-i)
			return
		}
		name := strings.Repeat("  ", strings.Count(a.ID, "/")) + a.ID[strings.LastIndexByte(a.ID, '/')+1:]
		fmt.Fprintf(b, "  %-30s %s, %s", name, a.Kind, a.State)
		if a.Restarts > 0 {
			fmt.Fprintf(b, ", restarted %d times", a.Restarts)
		}
		b.WriteByte('\n')
	}
}
