package message

// scatteredWindow is the largest number of exchanges of a rank that are in progress at the same time,
// as in MPICH's MPIR_CVAR_ALLTOALL_THROTTLE.
const scatteredWindow = 32

// AllToAllVScattered copies part j of c.Send of rank i to part i of c.Recv of rank j, for all i and
// j. It executes the exchanges of AllToAllVPairwise with up to 32 of them in progress at the same
// time, and waits for these before it starts the next 32. So a late rank does not delay the other
// parts of the same 32 exchanges, and short parts cost the latency only once for 32 parts.
//
// Source: MPICH, alltoallv_intra_scattered. Restrictions: c.Recv is not the same memory as c.Send.
// Cost: ceil((p-1)/32) alpha + (p-1) n beta for parts of up to n bytes.
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
