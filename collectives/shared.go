package collectives

import (
	"os"

	"github.com/gorun-hpc/gorun/collectives/internal/node"
	"github.com/gorun-hpc/gorun/collectives/internal/private"
	"github.com/gorun-hpc/gorun/internal/hugepages"
	"github.com/gorun-hpc/gorun/runtime"
)

// shared is the memory of a group's ranks; its waits use the view of the operation that is
// under way.
type shared struct {
	*runtime.Shared
	g *group
}

var _ node.Memory = shared{}

// Await waits with the communicator, and hence the context, of the operation.
func (s shared) Await(w *node.Word, v uint64) error { return s.Shared.Await(s.g.comm, w, v) }

// open is the Open of node.Config for some members of this rank's node. The memory lives as long as
// the communicator.
func (g *group) open(ranks []int, bytes int) (node.Memory, error) {
	s, err := runtime.NewSharedAmong(g.comm, ranks, bytes)
	if err != nil {
		return nil, err
	}
	g.memories.add(s)
	return shared{s, g}, nil
}

// shared returns the state of the shared-memory algorithms of the members on this node, which are
// at least two.
func (g *group) shared() (*node.Group, error) {
	if g.node != nil {
		return g.node, nil
	}
	n, err := g.memoryOf(g.parts.Mine(), g.parts.Place)
	if err != nil {
		return nil, err
	}
	g.node, g.last = n, chosen{} // domains and distance are known from now on
	if err := g.domains.exchange(n, g.parts.Place, len(g.parts.Mine())); err != nil {
		return nil, err
	}
	if g.size == 2 && !g.crowded {
		g.apart, err = n.Apart()
	}
	return n, err
}

// memoryOf returns the state of the shared-memory algorithms of some members of this rank's node, of
// which it is number place.
func (g *group) memoryOf(ranks []int, place int) (*node.Group, error) {
	return node.New(node.Config{
		Rank: place, Size: len(ranks), Crowded: g.crowded, Reader: reader(), Note: new(hugepages.Traffic).Note, Place: g.line, Awaits: g.record,
		Open: func(bytes int) (node.Memory, error) { return g.open(ranks, bytes) },
	})
}

// reader returns the way to other ranks' private memory, nil where GORUN_CMA
// forbids it as it does to the transport.
func reader() node.Reader {
	if os.Getenv("GORUN_CMA") == "0" {
		return nil
	}
	return private.Reader{}
}
