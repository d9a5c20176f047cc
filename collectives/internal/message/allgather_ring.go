package message

// AllGatherRing collects the blocks send of all ranks in recv of all ranks:
// every rank passes on to the next what it got from the one before. send may be
// this rank's block of recv.
//
// Restrictions: none. Cost: (p-1) (alpha + n beta) for blocks of n bytes; best
// for large ones, for neighbours only talk to neighbours.
func AllGatherRing(p Peer, send, recv []byte) error {
	rank, size := p.Rank(), p.Size()
	next, prev := (rank+1)%size, (rank-1+size)%size
	b := blocks{size, size, len(send)}
	place(b.of(recv, rank), send)
	for step := range size - 1 {
		out, in := (rank-step+size)%size, (rank-step-1+size)%size
		if err := p.Exchange(next, b.of(recv, out), prev, b.of(recv, in)); err != nil {
			return err
		}
	}
	return nil
}
