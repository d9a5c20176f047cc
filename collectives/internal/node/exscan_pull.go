package node

// ExScanPull sets recv of member 1 of two to send of member 0, which it reads from that one's private memory.
// recv of member 0 stays as it is.
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
