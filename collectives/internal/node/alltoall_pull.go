package node

// AllToAllPull copies block rank of send of member q to block q of recv, straight
// from q's private memory, for all q: every block travels once, and memory that
// its owner does not write stays in the readers' caches. recv may not be send.
//
// Restrictions: CanPull. Cost: 2 alpha + p n beta for blocks of n bytes, and the
// kernel's work on each page.
func (g *Group) AllToAllPull(send, recv []byte) error {
	g.note(send)
	g.note(recv)
	return g.lending.during(send, func(l *peerReads) error { return l.pullBlocks(send, recv) })
}

// pullBlocks copies this member's block of every member, its own first: meanwhile the
// others arrive.
func (l *peerReads) pullBlocks(send, recv []byte) error {
	rank, size := l.g.rank, len(send)/l.g.size
	copy(recv[rank*size:][:size], send[rank*size:][:size])
	for k := 1; k < l.g.size; k++ {
		q := (rank + k) % l.g.size
		if err := l.pull(q, rank*size, recv[q*size:][:size]); err != nil {
			return err
		}
	}
	return nil
}
