package node

// BcastPull broadcasts buf of root to all members, which read it directly from root's private
// memory.
//
// Restrictions: CanPull returns true. Cost: 2 alpha + n beta, and the kernel's work on each page.
func (g *Group) BcastPull(buf []byte, root int) error {
	g.note(buf)
	if g.rank == root {
		return g.lending.during(buf, nobody)
	}
	return g.lending.borrow(func(l *peerReads) error { return l.pull(root, 0, buf) })
}
