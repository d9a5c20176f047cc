package message

// AllGatherDirect gathers c.Send of all ranks in the parts of c.Recv of every rank. Each rank sends
// c.Send to all other ranks, to 32 of them at the same time, as AllToAllVScattered does. The length of
// c.Send may differ from rank to rank. c.Send may be the same memory as this rank's part of c.Recv.
//
// Restrictions: none. Cost: ceil((p-1)/32) alpha + (p-1) n beta for parts of up to n bytes, in p (p-1)
// messages. AllGatherDirect is best if a few ranks share processors: each rank waits once, and each
// wait costs a context switch.
func AllGatherDirect(p Peer, c *Call) error {
	p.Copy(c.RecvParts.Of(c.Recv, p.Rank()), c.Send)
	return StartAll(p, func(to, from int) error {
		return p.Start(to, c.Send, from, c.RecvParts.Of(c.Recv, from))
	})
}
