package runtime

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/gorun-hpc/gorun/internal/callsite"
)

// Graph is a communicator whose ranks are the vertices of a directed graph. Its Comm is used for
// messages and collective operations. There may be several edges between two ranks, and edges from
// a rank to itself.
type Graph struct {
	*Comm
	vertex vertex
}

// vertex holds the edges of one rank. The weights are nil if the graph has none.
type vertex struct{ sources, sourceWeights, dests, destWeights []int }

// CreateGraphAdjacent returns a communicator whose ranks form a graph. Each member gives its own
// edges: the ranks from which it receives, and the ranks to which it sends, in the order of the
// blocks of neighborhood operations. Hence each edge is given by both of its ends. sourceWeights
// and destWeights are nil, or have one weight for each edge. A larger weight stands for more
// data. All members of c call CreateGraphAdjacent. If reorder is true, ranks may be renumbered so
// that the edges between nodes have a lower total weight. A member that gets another number also
// gets the edges that were given by the member with this number in c.
//
// The error is ErrRank if a rank is not in c. It is ErrArgument if a weight is negative, the number of
// weights is wrong, or the edges of a member take more than 1<<24 words (wordsMax). In each of these cases the
// members whose arguments are right get ErrArgument. If reorder differs between members, the error is
// ErrArgument at all members whose other arguments are right.
// CreateGraphAdjacent does not detect an edge that is given at one end only. Operations over such an
// edge may wait for ever.
func (c *Comm) CreateGraphAdjacent(sources, sourceWeights, dests, destWeights []int, reorder bool) (*Graph, error) {
	if err := c.ready(); err != nil {
		return nil, callsite.At(err)
	}
	wrong := cmp.Or(checkWords(len(sources)+len(sourceWeights)+len(dests)+len(destWeights)+vertexWords),
		c.checkEdges(sources, sourceWeights), c.checkEdges(dests, destWeights))
	v := vertex{slices.Clone(sources), slices.Clone(sourceWeights), slices.Clone(dests), slices.Clone(destWeights)}
	if err := c.core.agreeing.enter(wholeGraph); err != nil {
		return nil, c.giveUp("CreateGraphAdjacent", err)
	}
	defer c.core.agreeing.leave(wholeGraph)
	number, err := c.agreeOnGraph("CreateGraphAdjacent", wrong, reorder)
	if err != nil {
		return nil, err
	}
	if !reorder {
		return c.graph(number, identityOrder(c.size), v), nil
	}
	lists, err := c.exchangeLists(append(v.words(), c.core.world.NodeRank()))
	if err != nil {
		return nil, c.giveUpGraph("CreateGraphAdjacent", number, err)
	}
	all, nodes := make([]vertex, c.size), make([]uint64, c.size)
	for rank, list := range lists {
		if all[rank], nodes[rank], err = c.vertexOf(list); err != nil {
			return nil, c.giveUpGraph("CreateGraphAdjacent", number, fmt.Errorf("edges of rank %d: %w", rank, err))
		}
	}
	return c.reordered(number, all, nodes), nil
}

// CreateGraph is CreateGraphAdjacent, except that any member may give any edges. The caller gives
// degrees[i] edges from rank sources[i]. The destinations of these edges are the next degrees[i]
// elements of dests. weights has one weight for each element of dests, or is nil at every member.
// Comm.Neighbors orders the edges by the rank that gave them. The edges that one rank gave keep
// their order.
func (c *Comm) CreateGraph(sources, degrees, dests, weights []int, reorder bool) (*Graph, error) {
	if err := c.ready(); err != nil {
		return nil, callsite.At(err)
	}
	edges, wrong := c.flatEdges(sources, degrees, dests, weights)
	if err := c.core.agreeing.enter(wholeGraph); err != nil {
		return nil, c.giveUp("CreateGraph", err)
	}
	defer c.core.agreeing.leave(wholeGraph)
	number, err := c.agreeOnGraph("CreateGraph", wrong, reorder, weights == nil)
	if err != nil {
		return nil, err
	}
	lists, err := c.exchangeLists(append(edges, c.core.world.NodeRank()))
	if err != nil {
		return nil, c.giveUpGraph("CreateGraph", number, err)
	}
	all, nodes := make([]vertex, c.size), make([]uint64, c.size)
	for rank, list := range lists {
		if err := c.checkList(list); err != nil {
			return nil, c.giveUpGraph("CreateGraph", number, fmt.Errorf("edges of rank %d: %w", rank, err))
		}
		nodes[rank] = uint64(list[len(list)-1])
		for ; len(list) > edgeWords; list = list[edgeWords:] {
			from, to := &all[list[0]], &all[list[1]]
			from.dests, to.sources = append(from.dests, list[1]), append(to.sources, list[0])
			if weights != nil {
				from.destWeights, to.sourceWeights = append(from.destWeights, list[2]), append(to.sourceWeights, list[2])
			}
		}
	}
	if !reorder {
		return c.graph(number, identityOrder(c.size), all[c.rank]), nil
	}
	return c.reordered(number, all, nodes), nil
}

// edgeWords is the number of words of an edge of CreateGraph: source, destination, weight.
const edgeWords = 3

// flatEdges checks the arguments of CreateGraph and returns the edges as a list of edgeWords words
// each.
func (c *Comm) flatEdges(sources, degrees, dests, weights []int) ([]int, error) {
	if len(degrees) != len(sources) {
		return nil, fmt.Errorf("%w: %d sources and %d degrees", ErrArgument, len(sources), len(degrees))
	}
	if err := c.checkEdges(dests, weights); err != nil {
		return nil, err
	}
	if err := c.checkEdges(sources, nil); err != nil {
		return nil, err
	}
	if err := checkWords(edgeWords*len(dests) + 1); err != nil {
		return nil, err
	}
	edges, next := []int(nil), 0
	for i, degree := range degrees {
		if degree < 0 || degree > len(dests)-next {
			return nil, fmt.Errorf("%w: degree %d of source %d, with %d destinations left", ErrArgument, degree, sources[i], len(dests)-next)
		}
		for ; degree > 0; degree-- {
			weight := 0
			if weights != nil {
				weight = weights[next]
			}
			edges = append(edges, sources[i], dests[next], weight)
			next++
		}
	}
	if next != len(dests) {
		return nil, fmt.Errorf("%w: the degrees add up to %d edges, but there are %d destinations", ErrArgument, next, len(dests))
	}
	return edges, nil
}

// checkEdges returns an error if a rank is not in c, a weight is negative, or weights is neither nil
// nor as long as ranks.
func (c *Comm) checkEdges(ranks, weights []int) error {
	if weights != nil && len(weights) != len(ranks) {
		return fmt.Errorf("%w: %d weights for %d edges", ErrArgument, len(weights), len(ranks))
	}
	for _, rank := range ranks {
		if err := c.checkPeer(rank); err != nil {
			return err
		}
	}
	for _, w := range weights {
		if w < 0 {
			return fmt.Errorf("%w: negative weight %d", ErrArgument, w)
		}
	}
	return nil
}

// wholeGraph is the tag under which agreeing records the making of a graph: the agreement and exchangeLists. No
// message has this tag.
const wholeGraph = -2

// agreeOnGraph is agreeOn for the making of a graph. wrong is the error of the edges that this member gives, or nil. If
// edges of any member are wrong, no member makes a communicator: agreeOnGraph returns wrong at that member, and
// ErrArgument at the others.
func (c *Comm) agreeOnGraph(op string, wrong error, arguments ...any) (number uint32, err error) {
	number, _, err = c.agreeOn(op, tagGraph, append(arguments, wrong == nil))
	switch {
	case err == nil && wrong == nil:
		return number, nil
	case err == nil:
		c.core.world.comms.release(number)
		return 0, callsite.At(wrong)
	case wrong != nil && errors.Is(err, ErrArgument): // the members have agreed that arguments differ
		return 0, callsite.At(wrong)
	}
	return 0, c.giveUpGraph(op, number, err)
}

// giveUpGraph ends the making of a graph that has failed with err. If number is not 0, other members may have made
// the communicator.
func (c *Comm) giveUpGraph(op string, number uint32, err error) error {
	if number != 0 {
		_, err = c.made(op, c.arrange(number, ".graph", identityOrder(c.size), graphTopology{}), err)
	}
	return err
}

// graph makes the communicator. order[i] is the rank in c of the member that gets the new rank i. The
// argument v has the edges of the caller.
func (c *Comm) graph(number uint32, order []int, v vertex) *Graph {
	return &Graph{c.arrange(number, ".graph", order, graphTopology{v}), v}
}

// reordered makes the communicator with ranks renumbered by placeVertices. The argument all has the
// edges of each vertex, and nodes has the node of each rank.
func (c *Comm) reordered(number uint32, all []vertex, nodes []uint64) *Graph {
	order := placeVertices(all, nodes)
	return c.graph(number, order, all[slices.Index(order, c.rank)])
}

// WithContext returns a view of the Graph, as Comm.WithContext does.
func (t *Graph) WithContext(ctx context.Context) *Graph {
	return &Graph{t.Comm.WithContext(ctx), t.vertex}
}

// Dup returns a Graph of the same ranks and the same edges, as Comm.Dup does.
func (t *Graph) Dup() (*Graph, error) {
	made, err := t.Comm.Dup()
	if err != nil {
		return nil, err
	}
	return &Graph{made, t.vertex}, nil
}

// Weights returns the weights of the edges to this rank and of the edges from this rank, in the
// order of Neighbors, as new slices. Both slices are nil if the graph has no weights.
func (t *Graph) Weights() (sources, dests []int) {
	return slices.Clone(t.vertex.sourceWeights), slices.Clone(t.vertex.destWeights)
}

// graphTopology is the topology of a Graph. A rank knows only its own neighbors.
type graphTopology struct{ vertex vertex }

func (t graphTopology) around(int) (sources, dests []int) {
	return slices.Clone(t.vertex.sources), slices.Clone(t.vertex.dests)
}

func (t graphTopology) order() []int { return identityOrder(len(t.vertex.dests)) }
