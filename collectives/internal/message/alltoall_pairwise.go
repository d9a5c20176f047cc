package message

// AllToAllPairwise hands block j of send of rank i to block i of recv of rank j
// in p-1 rounds; in round k a rank sends to the one k after it and receives from the one k
// before it or, when p is a power of two, exchanges with rank XOR k. recv may not be send.
//
// Restrictions: none. Cost: (p-1) (alpha + n beta) for blocks of n bytes; best
// for large ones.
func AllToAllPairwise(p Peer, c *Call) error {
	send, recv := c.Send, c.Recv
	rank, size := p.Rank(), p.Size()
	b := blocks{size, size, len(send) / size}
	p.Copy(b.of(recv, rank), b.of(send, rank))
	power := powerBelow(size) == size
	for k := 1; k < size; k++ {
		to, from := (rank+k)%size, (rank-k+size)%size
		if power {
			to, from = rank^k, rank^k
		}
		if err := p.Exchange(to, b.of(send, to), from, b.of(recv, from)); err != nil {
			return err
		}
	}
	return nil
}
