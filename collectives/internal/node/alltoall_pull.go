package node

import "github.com/gorun-hpc/gorun/collectives/internal/kernel"

// AllToAllPull copies the block for this member from member q's buffer send to block q of recv, for
// all q, directly from the private memory of q. So every block is copied once. If the owner of a
// block does not write it between two operations, the block stays in the caches of its readers. recv
// must not be the same memory as send.
//
// Restrictions: CanPull returns true. Cost: 2 alpha + p n beta for blocks of n bytes, and the kernel's work on
// each page.
func (g *Group) AllToAllPull(send, recv []byte) error {
	g.note(send)
	g.note(recv)
	return g.lending.during(send, func(l *peerReads) error { return l.pullBlocks(send, recv) })
}

// pullBlocks copies the blocks of all members for this member to recv. It copies this member's own
// block first, to give the others time to arrive.
func (l *peerReads) pullBlocks(send, recv []byte) error {
	rank, size := l.g.rank, len(send)/l.g.size
	kernel.Copy(recv[rank*size:][:size], send[rank*size:][:size])
	for k := 1; k < l.g.size; k++ {
		q := (rank + k) % l.g.size
		if err := l.pull(q, rank*size, recv[q*size:][:size]); err != nil {
			return err
		}
	}
	return nil
}
