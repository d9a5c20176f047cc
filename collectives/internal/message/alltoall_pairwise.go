package message

// AllToAllPairwise copies part j of c.Send of rank i to part i of c.Recv of rank j, for all i and j,
// in p-1 rounds. In round k rank r sends to rank r+k and receives from rank r-k (modulo p). If p is a
// power of two, rank r exchanges with rank r XOR k instead. A rank sends a message for an empty part,
// too. So if two ranks know different lengths of a part, the operation fails even if one of the lengths
// is 0.
//
// Restrictions: c.Recv is not the same memory as c.Send. Cost: (p-1) (alpha + n beta) for parts of
// up to n bytes; best for large parts.
func AllToAllPairwise(p Peer, c *Call) error {
	rank, size := p.Rank(), p.Size()
	p.Copy(c.RecvParts.Of(c.Recv, rank), c.SendParts.Of(c.Send, rank))
	power := powerBelow(size) == size
	for k := 1; k < size; k++ {
		to, from := (rank+k)%size, (rank-k+size)%size
		if power {
			to, from = rank^k, rank^k
		}
		if err := p.Exchange(to, c.SendParts.Of(c.Send, to), from, c.RecvParts.Of(c.Recv, from)); err != nil {
			return err
		}
	}
	return nil
}
