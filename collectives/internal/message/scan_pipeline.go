package message

// ScanPipeline combines c.Send of the ranks 0 to i into c.Recv of rank i, for all i, in segments
// along the chain of the ranks. A rank combines a segment and sends it to the next rank while the
// previous rank works on the next segment. P. Sanders and J. Traeff, "Parallel prefix (scan)
// algorithms for MPI", EuroPVM/MPI (2006), compare this algorithm with trees. c.Recv may be the
// same memory as c.Send.
//
// Restrictions: none. The operands are combined from left to right, in the order of the ranks.
// Cost: (p - 1 + n/s) (alpha + s beta + s gamma) for segments of s bytes; best for large n.
func ScanPipeline(p Peer, c *Call) error {
	recv, r := c.Recv, c.Reduction
	p.Copy(recv, c.Send)
	rank, size := p.Rank(), p.Size()
	each := max(chainSegment(len(recv))/max(r.Elem, 1), 1) * r.Elem // elements may have no size
	in := p.Scratch(min(each, len(recv)))
	for from := 0; from < len(recv); from += each {
		mine := recv[from:min(from+each, len(recv))]
		if rank > 0 {
			got := in[:len(mine)]
			if err := p.Recv(rank-1, got); err != nil {
				return err
			}
			r.Fn(mine, got, mine)
		}
		if rank < size-1 {
			if err := p.Send(rank+1, mine); err != nil {
				return err
			}
		}
	}
	return nil
}
