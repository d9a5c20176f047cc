package node

import "github.com/gorun-hpc/gorun/collectives/internal/kernel"

// ScatterPull copies block q of root's buffer send to member q's buffer recv, for all q. Member q
// reads its block from root's private memory. At root, recv may be the same memory as root's block
// of send.
//
// Restrictions: CanPull returns true. Cost: 2 alpha + n beta for blocks of n bytes, and the kernel's work on
// each page.
func (g *Group) ScatterPull(send, recv []byte, root int) error {
	size := len(recv)
	if g.rank == root {
		g.note(send)
		return g.lending.during(send, func(*peerReads) error {
			kernel.Copy(recv, send[root*size:][:size])
			return nil
		})
	}
	g.note(recv)
	return g.lending.borrow(func(l *peerReads) error { return l.pull(root, l.g.rank*size, recv) })
}
