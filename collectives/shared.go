package collectives

import (
	"github.com/gorun-hpc/gorun/collectives/internal/node"
	"github.com/gorun-hpc/gorun/collectives/internal/private"
	"github.com/gorun-hpc/gorun/internal/hugepages"
	"github.com/gorun-hpc/gorun/runtime"
)

// shared is node memory of some members of a group.
type shared struct {
	*runtime.Shared
	g *group
}

var _ node.Memory = shared{}

// Await implements node.Memory. It waits on the view of the operation in progress, so that the wait
// ends when the context.Context of the operation ends.
func (s shared) Await(w *node.Word, v uint64) error { return s.Shared.Await(s.g.comm, w, v) }

// open allocates node memory among some members of this rank's node. The field Open of node.Config
// calls it. The memory is released when the communicator is closed.
func (g *group) open(ranks []int, bytes int) (node.Memory, error) {
	s, err := runtime.NewSharedAmong(g.comm, ranks, bytes)
	if err != nil {
		return nil, err
	}
	g.memories.add(s)
	return shared{s, g}, nil
}

// shared returns the state of the shared-memory algorithms of the members on this node. The node must
// have at least two members. In the first call the members make this state together.
func (g *group) shared() (*node.Group, error) {
	if g.node != nil {
		return g.node, nil
	}
	n, err := g.memoryOf(g.parts.Mine(), g.parts.Place)
	if err != nil {
		return nil, err
	}
	n.Begin(g.number - 1)
	g.node, g.chosen = n, chosen{} // the choice of algorithms may change, because domains and distance are known now
	if err := g.domains.exchange(n, g.parts.Place, len(g.parts.Mine())); err != nil {
		return nil, err
	}
	if g.size == 2 && !g.crowded {
		var apart bool
		apart, err = n.Apart()
		g.apart.Store(apart)
	}
	return n, err
}

// memoryOf makes the state of the shared-memory algorithms of some members of this rank's node. This
// rank is ranks[place].
func (g *group) memoryOf(ranks []int, place int) (*node.Group, error) {
	r, err := reader()
	if err != nil {
		return nil, err
	}
	return node.New(node.Config{
		Rank: place, Size: len(ranks), Crowded: g.crowded, Reader: r, Note: new(hugepages.Traffic).Note, FaultIn: hugepages.FaultIn, Place: g.line, Awaits: g.record,
		Open: func(bytes int) (node.Memory, error) { return g.open(ranks, bytes) },
	})
}

// reader returns the Reader of other ranks' private memory. It returns nil if GORUN_CMA is 0 or false.
// With this setting, the transport reads no private memory, either.
func reader() (node.Reader, error) {
	if allowed, err := toggled("GORUN_CMA", true); err != nil || !allowed {
		return nil, err
	}
	return private.Reader{}, nil
}
