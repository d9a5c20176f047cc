package message

// AllGatherBruck gathers the blocks c.Send of all ranks in c.Recv of every rank, in ceil(log p)
// rounds for any p. J. Bruck, C.-T. Ho, S. Kipnis, E. Upfal and D. Weathersby, "Efficient
// algorithms for all-to-all communications in multiport message-passing systems", IEEE Transactions
// on Parallel and Distributed Systems 8 (1997). c.Send may be the same memory as this rank's block
// of c.Recv.
//
// In round k, counted from 0, rank r receives blocks from rank r+2^k (modulo p). The sender sends only
// blocks that the receiver lacks. The receiver appends them to the blocks that it has. So the
// receiver's own block comes first, followed by the blocks of the next ranks. At the end the rank
// rotates the blocks into the order of the ranks.
//
// Restrictions: none. Cost: ceil(log p) alpha + (p-1) n beta for blocks of n bytes, and a copy of
// all blocks; best for short blocks.
func AllGatherBruck(p Peer, c *Call) error {
	send, recv := c.Send, c.Recv
	rank, size, n := p.Rank(), p.Size(), len(send)
	room := p.Scratch(n * size)
	p.Copy(room, send)
	for have := 1; have < size; have *= 2 {
		count := n * min(have, size-have)
		to, from := (rank-have+size)%size, (rank+have)%size
		if err := p.Exchange(to, room[:count], from, room[have*n:][:count]); err != nil {
			return err
		}
	}
	head := n * (size - rank)
	p.Copy(recv[n*rank:], room[:head])
	p.Copy(recv, room[head:])
	return nil
}
