package message

// ScatterVLinear copies part i of c.Send of root to c.Recv of rank i, for all i. The parts may
// differ in length. Root sends them one after the other. At root, c.Recv may be the same memory as
// root's part of c.Send.
//
// Restrictions: none. Cost: (p-1) alpha + n beta for n bytes in all, at root.
func ScatterVLinear(p Peer, c *Call) error {
	rank, size := p.Rank(), p.Size()
	if rank != c.Root {
		return p.Recv(c.Root, c.Recv)
	}
	for k := 1; k < size; k++ {
		q := (rank + k) % size
		if err := p.Send(q, c.SendParts.Of(c.Send, q)); err != nil {
			return err
		}
	}
	p.Copy(c.Recv, c.SendParts.Of(c.Send, rank))
	return nil
}
