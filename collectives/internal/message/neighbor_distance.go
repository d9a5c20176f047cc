package message

import (
	"errors"
	"fmt"
	"slices"
)

// errParts is the error of a call in which this rank is its own neighbor, and its parts for and from
// itself do not fit together.
var errParts = errors.New("parts do not fit together")

// NeighborDistance sends part i of Send to the rank Dests[i], and receives part i of Recv from the rank
// Sources[i], for all neighbors that are ranks. A rank processes its edges in the order of their
// distance, which is the number of ranks from the source to the destination in the ring of the ranks.
// If its next outgoing and its next incoming edge have the same distance, it sends and receives at the
// same time. If a rank has several parts for one destination, they arrive in the order in which they
// are in Dests. Parts for the rank itself are copied.
//
// There is no deadlock. Among the edges that are not complete, consider those with the least distance,
// and among these one before which the fewest edges are in the lists of its two ranks. Both ranks
// process this edge now.
//
// Restrictions: none. Cost: d (alpha + n beta) for d neighbors and parts of n bytes, and at most
// the time until the last chain of ranks that wait for each other is complete.
func NeighborDistance(p Peer, c *Call) error {
	out, in := edges(p, c.Dests, 1), edges(p, c.Sources, -1)
	for len(out)+len(in) > 0 {
		sends := len(out) > 0 && (len(in) == 0 || out[0].distance <= in[0].distance)
		receives := len(in) > 0 && (len(out) == 0 || in[0].distance <= out[0].distance)
		var to, from edge
		var send, recv []byte
		if sends {
			to, out = out[0], out[1:]
			send = c.SendParts.Of(c.Send, to.part)
		}
		if receives {
			from, in = in[0], in[1:]
			recv = c.RecvParts.Of(c.Recv, from.part)
		}
		if err := cross(p, sends, receives, to, send, from, recv); err != nil {
			return err
		}
	}
	return nil
}

// edge is one neighbor: the number of its part, its rank, and the distance of the edge.
type edge struct{ distance, rank, part int }

// edges returns the edges to or from the neighbors that are ranks, in the order of their distance. sign
// is 1 for outgoing and -1 for incoming edges.
func edges(p Peer, neighbors []int, sign int) []edge {
	list := make([]edge, 0, len(neighbors))
	for part, rank := range neighbors {
		if rank >= 0 {
			distance := (sign*(rank-p.Rank()) + p.Size()) % p.Size()
			list = append(list, edge{distance, rank, part})
		}
	}
	slices.SortStableFunc(list, func(a, b edge) int { return a.distance - b.distance })
	return list
}

// cross sends a part along the edge to, receives a part along the edge from, or both.
func cross(p Peer, sends, receives bool, to edge, out []byte, from edge, in []byte) error {
	switch {
	case sends && receives && to.distance == 0:
		if len(out) != len(in) {
			return fmt.Errorf("%w: rank %d sends itself %d bytes and receives %d", errParts, p.Rank(), len(out), len(in))
		}
		p.Copy(in, out)
		return nil
	case (sends && to.distance == 0) || (receives && from.distance == 0):
		return fmt.Errorf("%w: rank %d is its own neighbor at one end of an edge alone", errParts, p.Rank())
	case !receives:
		return p.Send(to.rank, out)
	case !sends:
		return p.Recv(from.rank, in)
	default:
		return p.Exchange(to.rank, out, from.rank, in)
	}
}
