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
	if me == 0 {
		head := n * (size - root)
		p.Copy(room, send[n*root:])
		p.Copy(room[head:], send[:n*root])
	}
	if err := descend(p, root, func(from, to int) []byte { return room[n*(from-me) : n*(to-me)] }); err != nil {
		return err
	}
	p.Copy(recv, room[:n])
	return nil
}
