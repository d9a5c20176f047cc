package message

// ScatterBinomial copies block i of c.Send of root to c.Recv of rank i, for all i, along a binomial
// tree whose ranks are counted from root. c.Send is used at root only. At root, c.Recv may be the
// same memory as root's block of c.Send.
//
// Restrictions: none. Cost: ceil(log p) alpha + n (p-1) beta for blocks of n bytes.
func ScatterBinomial(p Peer, c *Call) error {
	send, recv, root := c.Send, c.Recv, c.Root
	size, n := p.Size(), len(recv)
	me := (p.Rank() - root + size) % size
	room := p.Scratch(n * subtree(me, size))
	mask := 1
	for ; mask < size && me&mask == 0; mask <<= 1 {
	}
	if me == 0 {
		head := n * (size - root)
		p.Copy(room, send[n*root:])
		p.Copy(room[head:], send[:n*root])
	} else if err := p.Recv((me-mask+root)%size, room); err != nil {
		return err
	}
	for mask >>= 1; mask > 0; mask >>= 1 {
		if far := me + mask; far < size {
			if err := p.Send((far+root)%size, room[mask*n:][:n*subtree(far, size)]); err != nil {
				return err
			}
		}
	}
	p.Copy(recv, room[:n])
	return nil
}
