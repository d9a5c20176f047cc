package node

import (
	"github.com/gorun-hpc/gorun/collectives/internal/kernel"
	"github.com/gorun-hpc/gorun/collectives/internal/message"
)

// GatherPull gathers the contributions in the blocks of root's buffer recv: root reads the
// contributions from the members' private memory. At root, send may be the same memory as root's
// block of recv.
//
// Restrictions: CanPull returns true. Cost: 2 alpha + p n beta at root, and the kernel's work on each page.
func (g *Group) GatherPull(send, recv []byte, root int) error {
	if g.rank != root {
		g.note(send)
		return g.lending.lendTo(root, send)
	}
	g.note(recv)
	return g.lending.borrow(func(l *peerReads) error { return l.pullParts(send, recv, message.Equal(len(send))) })
}

// AllGatherPull gathers the contributions of all members in the parts of every member's buffer
// recv: each member reads the contributions from their owners' private memory. send may be the same
// memory as this member's part of recv.
//
// Restrictions: CanPull returns true. Cost: 2 alpha + p n beta for parts of up to n bytes, and the kernel's work
// on each page.
func (g *Group) AllGatherPull(send, recv []byte, parts message.Parts) error {
	g.note(send)
	g.note(recv)
	return g.lending.during(send, func(l *peerReads) error { return l.pullParts(send, recv, parts) })
}

// pullParts copies the contributions of all members to their parts of recv. It copies this member's own
// contribution when it would have to wait for another member, or else last, after it has signalled that its reads are
// finished.
func (l *peerReads) pullParts(send, recv []byte, parts message.Parts) error {
	rank, size := l.g.rank, l.g.size
	copied := false
	for k := 1; k < size; k++ {
		q := (rank + k) % size
		if !copied && !l.exposed(q) {
			kernel.Copy(parts.Of(recv, rank), send)
			copied = true
		}
		if err := l.pull(q, 0, parts.Of(recv, q)); err != nil {
			return err
		}
	}
	l.finish()
	if !copied {
		kernel.Copy(parts.Of(recv, rank), send)
	}
	return nil
}
