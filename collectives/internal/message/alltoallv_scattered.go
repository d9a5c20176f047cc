package message

// AllToAllVScattered copies part j of c.Send of rank i to part i of c.Recv of rank j, for all i and
// j. A rank starts 32 of the exchanges of AllToAllPairwise at the same time, and waits until they
// are complete before it starts the next 32. So a late rank does not delay the other parts of the
// same 32 exchanges. If parts are short, a rank waits for the latency only once for 32 parts.
//
// Source: MPICH, alltoallv_intra_scattered. Restrictions: c.Recv is not the same memory as c.Send.
// Cost: ceil((p-1)/32) alpha + (p-1) n beta for parts of up to n bytes.
func AllToAllVScattered(p Peer, c *Call) error {
	rank := p.Rank()
	p.Copy(c.RecvParts.Of(c.Recv, rank), c.SendParts.Of(c.Send, rank))
	return StartAll(p, func(to, from int) error {
		return p.Start(to, c.SendParts.Of(c.Send, to), from, c.RecvParts.Of(c.Recv, from))
	})
}

// scatteredWindow is the largest number of exchanges that one rank has in progress at the same time.
// In MPICH, MPIR_CVAR_ALLTOALL_THROTTLE sets this number.
const scatteredWindow = 32

// StartAll calls start for each round of an exchange among all ranks, with the ranks to send to and to
// receive from. It waits for the started operations after every 32 rounds.
func StartAll(p Peer, start func(to, from int) error) error {
	rank, size := p.Rank(), p.Size()
	for first := 1; first < size; first += scatteredWindow {
		for k := first; k < min(first+scatteredWindow, size); k++ {
			if err := start((rank+k)%size, (rank-k+size)%size); err != nil {
				return err
			}
		}
		if err := p.Complete(); err != nil {
			return err
		}
	}
	return nil
}
