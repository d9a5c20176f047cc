package node

import (
	"github.com/gorun-hpc/gorun/collectives/internal/kernel"
	"github.com/gorun-hpc/gorun/collectives/internal/message"
)

// ScatterVSlots copies part q of root's buffer send to member q's buffer recv, for all q. The lengths
// of the parts may differ. Root's slot, a small buffer of shared memory, has the table of the other members' parts
// (see table.go), followed by the short parts. Root sends the other parts as messages by p, up to 32 at the same
// time. At root, recv may be the same memory as root's part of send.
//
// Restrictions: at most TableMax members. Cost: alpha + n beta for n bytes in all, at root, and a
// message for each long part.
func (g *Group) ScatterVSlots(p message.Peer, send []byte, parts message.Parts, recv []byte, root int) error {
	n, mine, err := g.begin()
	if err != nil {
		return err
	}
	g.leads(root)
	if g.rank != root {
		s, err := g.awaitSlot(root, n)
		if err != nil {
			return err
		}
		e := s.entry(g.rank)
		if err := e.expect(root, len(recv)); err != nil {
			return err
		}
		if e.inSlot() {
			err = s.take(e, recv)
		}
		g.finish(n)
		if err != nil || e.inSlot() {
			return err
		}
		return p.Recv(root, recv)
	}
	mine.list(send, parts, root, g.size)
	g.announce(mine, n)
	g.finish(n)
	kernel.Copy(recv, parts.Of(send, root))
	return message.StartAll(p, func(to, _ int) error {
		if mine.entry(to).inSlot() {
			return nil
		}
		return p.Start(to, parts.Of(send, to), message.Nobody, nil)
	})
}
