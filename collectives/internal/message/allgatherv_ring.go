package message

// AllGatherVRing collects send of all ranks in the parts of recv of all ranks, in the steps of
// AllGatherRing. The ranks' send may differ in length. send may be this rank's part of recv.
//
// Restrictions: none. Cost: (p-1) (alpha + n beta) for parts of up to n bytes.
func AllGatherVRing(p Peer, c *Call) error {
	rank, size := p.Rank(), p.Size()
	p.Copy(c.RecvParts.Of(c.Recv, rank), c.Send)
	next, prev := (rank+1)%size, (rank-1+size)%size
	for step := range size - 1 {
		out, in := (rank-step+size)%size, (rank-step-1+size)%size
		if err := p.Exchange(next, c.RecvParts.Of(c.Recv, out), prev, c.RecvParts.Of(c.Recv, in)); err != nil {
			return err
		}
	}
	return nil
}
