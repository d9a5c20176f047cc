package message

import "slices"

// NeighborDistance sends part i of c.Send to the rank c.Dests[i], and receives part i of c.Recv from
// the rank c.Sources[i], for all neighbors that are ranks. Each transfer is an edge. The distance of
// an edge is the number of ranks from the source to the destination in the ring of the ranks. A rank
// processes its outgoing edges in the order of their distance, and its incoming edges in the order of
// their distance, too. If its next outgoing and its next incoming edge have the same distance, the
// rank sends and receives at the same time. Otherwise it first processes the edge with the shorter
// distance. If a rank has several parts for one destination, they arrive in the order in which they
// are in c.Dests. Parts for the rank itself are copied. The caller has checked that they agree in number
// and in length with the parts that the rank receives from itself.
//
// There is no deadlock. Among the edges that are not complete, consider an edge of the least
// distance. If there are several such edges from the same source to the same destination, consider
// the first of them. Both ranks process their edges in the order of distance. So this edge is the
// next outgoing edge of its source and the next incoming edge of its destination. So both ranks
// process this edge now.
//
// Restrictions: none. Cost: d (alpha + n beta) for d neighbors and parts of n bytes, and the time
// that a rank waits for its neighbors. (A neighbor may itself wait for other ranks.)
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

// cross sends a part along the edge in the argument to, receives a part along the edge in the argument from, or does
// both. It copies a part that the rank sends to itself.
func cross(p Peer, sends, receives bool, to edge, out []byte, from edge, in []byte) error {
	switch {
	case sends && receives && to.distance == 0:
		p.Copy(in, out)
		return nil
	case !receives:
		return p.Send(to.rank, out)
	case !sends:
		return p.Recv(from.rank, in)
	default:
		return p.Exchange(to.rank, out, from.rank, in)
	}
}
