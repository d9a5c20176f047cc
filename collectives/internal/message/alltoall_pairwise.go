package message

// AllToAllPairwise copies block j of c.Send of rank i to block i of c.Recv of rank j, for all i and j,
// in p-1 rounds. In round k rank r sends to rank r+k and receives from rank r-k (modulo p). If p is a
// power of two, rank r exchanges with rank r XOR k instead.
//
// Restrictions: c.Recv is not the same memory as c.Send. Cost: (p-1) (alpha + n beta) for blocks of
// n bytes; best for large blocks.
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
