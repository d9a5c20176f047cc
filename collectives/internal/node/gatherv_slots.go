package node

import (
	"github.com/gorun-hpc/gorun/collectives/internal/kernel"
	"github.com/gorun-hpc/gorun/collectives/internal/message"
)

// GatherVSlots gathers the contributions of all members in the parts of root's buffer recv. The
// lengths may differ, and only root knows all of them. Each other member writes the length of its
// contribution into its slot, a small buffer of shared memory. If the contribution fits into the
// slot, the member writes it there too; otherwise it sends the contribution as a message by p. Root
// receives up to 32 messages at the same time. At root, send may be the same memory as root's part of recv.
//
// Restrictions: none. Cost: alpha + n beta for n bytes in all, at root, and a message for each long
// contribution.
func (g *Group) GatherVSlots(p message.Peer, send, recv []byte, parts message.Parts, root int) error {
	n, mine, err := g.begin()
	if err != nil {
		return err
	}
	if g.rank != root {
		e := entry(len(send)) << placeBits
		fits := 8+len(send) <= len(mine.all)
		if fits {
			e |= 8
			copy(mine.all[8:], send)
		}
		*uint64At(mine.all, 0) = uint64(e)
		g.announce(mine, n)
		g.finish(n)
		if fits {
			return nil
		}
		return p.Send(root, send)
	}
	kernel.Copy(parts.Of(recv, root), send)
	err = message.StartAll(p, func(_, from int) error { return g.takeOne(p, from, n, parts.Of(recv, from)) })
	if err != nil {
		return err
	}
	g.floor = n
	g.finish(n)
	return nil
}

// takeOne copies member q's contribution of step n from the slot of q to dst, or starts to receive it into dst as a
// message.
func (g *Group) takeOne(p message.Peer, q int, n uint64, dst []byte) error {
	s, err := g.awaitSlot(q, n)
	if err != nil {
		return err
	}
	e := entry(*uint64At(s.all, 0))
	if err := e.expect(q, len(dst)); err != nil {
		return err
	}
	if !e.inSlot() {
		return p.Start(message.Nobody, nil, q, dst)
	}
	return s.take(e, dst)
}
