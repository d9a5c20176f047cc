package message

// GatherVLinear collects send of all ranks in the parts of recv of root, which receives them one after
// the other. The ranks' send may differ in length. The other ranks do not know the lengths of the
// parts; a tree would need messages that distribute them. At root, send may be root's part of recv.
//
// Restrictions: none. Cost: (p-1) alpha + n beta for n bytes in all, at root.
func GatherVLinear(p Peer, c *Call) error {
	rank, size := p.Rank(), p.Size()
	if rank != c.Root {
		return p.Send(c.Root, c.Send)
	}
	for k := 1; k < size; k++ {
		q := (rank + k) % size
		if err := p.Recv(q, c.RecvParts.Of(c.Recv, q)); err != nil {
			return err
		}
	}
	p.Copy(c.RecvParts.Of(c.Recv, rank), c.Send)
	return nil
}
