package message

import (
	"errors"
	"fmt"
	"slices"
)

// errParts is a call whose parts for this rank itself do not fit together.
var errParts = errors.New("parts do not fit together")

// NeighborDistance hands part i of Send to the rank Dests[i] and receives part i of Recv from the
// rank Sources[i], for all neighbors that are ranks: edges in the order of their distance, which
// is how far the destination is behind the source in the ring of the ranks. Edges of equal
// distance go out and come in at the same time. Parts for a rank arrive in the order in which
// they are in Dests, where there are several; those for this rank are copied.
//
// No rank waits for ever: of the edges that are under way, take one with the least distance and
// the fewest edges of its ends before it. Both of its ends are at it.
//
// Restrictions: none. Cost: d (alpha + n beta) for d neighbors and parts of n bytes, and at most
// the time until the last of the chains of waiting ranks is through.
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

// edge is one part and the rank that it goes to or comes from.
type edge struct{ distance, rank, part int }

// edges returns those of the neighbors that are ranks, by distance.
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

// cross moves one part out, one in, or both.
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
