package message

// GatherVLinear gathers c.Send of all ranks in the parts of c.Recv of root, which receives the
// contributions one after the other. The length of c.Send may differ from rank to rank. Only root
// knows the lengths of all parts; a tree would need further messages that distribute the lengths.
// At root, c.Send may be the same memory as root's part of c.Recv.
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
