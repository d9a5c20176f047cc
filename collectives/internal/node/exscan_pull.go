package node

// ExScanPull is an exclusive scan of two members. Member 1 copies member 0's contribution to its
// own buffer recv, directly from the private memory of member 0. Member 0's buffer recv stays
// unchanged.
//
// Restrictions: CanPull returns true; two members. Cost: 2 alpha + n beta, and the kernel's work on each page.
func (g *Group) ExScanPull(send, recv []byte) error {
	if g.rank == 0 {
		g.note(send)
		return g.lending.lendTo(1, send)
	}
	g.note(recv)
	return g.lending.borrow(func(l *peerReads) error { return l.pull(0, 0, recv) })
}
