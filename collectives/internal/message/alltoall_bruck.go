package message

// AllToAllBruck hands block j of send of rank i to block i of recv of rank j in
// ceil(log p) rounds (Bruck and others 1997, the index operation): the block that has to
// move by d ranks moves 2^k ranks in every round k whose bit is set in d. recv may be send.
//
// Restrictions: none. Cost: ceil(log p) (alpha + n p/2 beta) for blocks of n
// bytes, and three copies of all blocks; best for small ones.
func AllToAllBruck(p Peer, c *Call) error {
	send, recv := c.Send, c.Recv
	rank, size, n := p.Rank(), p.Size(), len(send)/p.Size()
	half := size / 2 * n // no bit is set in more than half of the numbers below size
	scratch := p.Scratch(size*n + 2*half)
	// room holds at place d the block that has to move by d ranks.
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
