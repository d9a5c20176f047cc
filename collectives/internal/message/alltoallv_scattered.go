package message

// scatteredWindow is how many exchanges of a rank are under way at the same time, as MPICH's
// MPIR_CVAR_ALLTOALL_THROTTLE.
const scatteredWindow = 32

// AllToAllVScattered hands part j of send of rank i to part i of recv of rank j as
// AllToAllVPairwise does, but does not wait for one exchange before the next: up to 32 of them are
// under way at a time, so that a rank that is late delays only its own parts, and short parts cost
// the latency once for 32. recv may not be send.
//
// Source: MPICH, alltoallv_intra_scattered. Restrictions: recv is not send. Cost:
// ceil((p-1)/32) alpha + (p-1) n beta for parts of up to n bytes.
func AllToAllVScattered(p Peer, c *Call) error {
	rank, size := p.Rank(), p.Size()
	p.Copy(c.RecvParts.Of(c.Recv, rank), c.SendParts.Of(c.Send, rank))
	for first := 1; first < size; first += scatteredWindow {
		for k := first; k < min(first+scatteredWindow, size); k++ {
			to, from := (rank+k)%size, (rank-k+size)%size
			if err := p.Start(to, c.SendParts.Of(c.Send, to), from, c.RecvParts.Of(c.Recv, from)); err != nil {
				return err
			}
		}
		if err := p.Complete(); err != nil {
			return err
		}
	}
	return nil
}
