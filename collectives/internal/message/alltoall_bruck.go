package message

// AllToAllBruck copies block j of c.Send of rank i to block i of c.Recv of rank j, for all i and j,
// in ceil(log p) rounds (Bruck and others 1997, the index operation). A block whose destination is
// d ranks after its source moves by 2^k ranks in each round k for which bit k of d is set. c.Recv
// may be the same memory as c.Send.
//
// Restrictions: none. Cost: ceil(log p) (alpha + n p/2 beta) for blocks of n bytes, and copies: of
// all blocks before and after the rounds, and of up to half of the blocks at the beginning and at
// the end of each round. Best for small blocks.
func AllToAllBruck(p Peer, c *Call) error {
	send, recv := c.Send, c.Recv
	rank, size, n := p.Rank(), p.Size(), len(send)/p.Size()
	half := size / 2 * n // at most half of the numbers below size have a given bit set
	scratch := p.Scratch(size*n + 2*half)
	// Place d of room holds the block whose destination is d ranks after its source.
	room, out, in := scratch[:size*n], scratch[size*n:][:half], scratch[size*n+half:]
	p.Copy(room, send[rank*n:])
	p.Copy(room[(size-rank)*n:], send[:rank*n])
	for step := 1; step < size; step <<= 1 {
		filled := 0
		for d := step; d < size; d++ {
			if d&step != 0 {
				filled += p.Copy(out[filled:], room[d*n:][:n])
			}
		}
		if err := p.Exchange((rank+step)%size, out[:filled], (rank-step+size)%size, in[:filled]); err != nil {
			return err
		}
		filled = 0
		for d := step; d < size; d++ {
			if d&step != 0 {
				filled += p.Copy(room[d*n:][:n], in[filled:])
			}
		}
	}
	for d := range size {
		from := (rank - d + size) % size
		p.Copy(recv[from*n:][:n], room[d*n:][:n])
	}
	return nil
}
