package message

// GatherBinomial gathers the blocks c.Send of all ranks in c.Recv of root, in the order of the
// ranks, along a binomial tree whose ranks are counted from root. c.Recv is used at root only. At
// root, c.Send may be the same memory as root's block of c.Recv.
//
// Restrictions: none. Cost: ceil(log p) alpha + n (p-1) beta for blocks of n bytes. Every rank
// needs memory for all blocks of its subtree, root for all p blocks.
func GatherBinomial(p Peer, c *Call) error {
	send, recv, root := c.Send, c.Recv, c.Root
	size, n := p.Size(), len(send)
	me := (p.Rank() - root + size) % size
	// room has the blocks of this rank's subtree, in the order of the ranks from this rank on.
	room := p.Scratch(n * subtree(me, size))
	p.Copy(room, send)
	mask := 1
	for ; mask < size && me&mask == 0; mask <<= 1 {
		if far := me + mask; far < size {
			if err := p.Recv((far+root)%size, room[mask*n:][:n*subtree(far, size)]); err != nil {
				return err
			}
		}
	}
	if me != 0 {
		return p.Send((me-mask+root)%size, room)
	}
	head := n * (size - root)
	p.Copy(recv[n*root:], room[:head])
	p.Copy(recv, room[head:])
	return nil
}

// subtree returns the number of ranks in the subtree of rank v, including v, in the binomial tree of
// size ranks whose root is 0.
func subtree(v, size int) int {
	if v == 0 {
		return size
	}
	return min(v&-v, size-v)
}
