package message

// AllGatherVRing gathers c.Send of all ranks in the parts of c.Recv of every rank, in the steps of
// AllGatherRing. The length of c.Send may differ from rank to rank. c.Send may be the same memory
// as this rank's part of c.Recv.
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
