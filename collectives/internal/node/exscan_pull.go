package node

// ExScanPull is an exclusive scan of two members: member 1 copies the send of member 0 to its recv, directly
// from the private memory of member 0. The recv of member 0 stays unchanged.
//
// Restrictions: CanPull, two members. Cost: 2 alpha + n beta, and the kernel's work on each page.
func (g *Group) ExScanPull(send, recv []byte) error {
	if g.rank == 0 {
		g.note(send)
		return g.lending.during(send, nobody)
	}
	g.note(recv)
	return g.lending.during(nil, func(l *peerReads) error { return l.pull(0, 0, recv) })
}
