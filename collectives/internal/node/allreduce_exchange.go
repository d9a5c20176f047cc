package node

import "github.com/gorun-hpc/gorun/collectives/internal/message"

// AllReduceExchange combines small contributions. Each member writes its own contribution, and then
// combines the contributions of all members. recv may be the same memory as send.
//
// Restrictions: len(send) <= SmallMax; wasteful for many members, and slow if members outnumber
// processors. Cost: alpha + p n (beta + gamma).
func (g *Group) AllReduceExchange(send, recv []byte, r message.Reduction) error {
	n, mine, err := g.begin()
	if err != nil {
		return err
	}
	copy(mine.room(len(send)), send)
	g.announce(mine, n)
	if err := g.collect(n); err != nil {
		return err
	}
	g.combine(recv, n, r)
	return nil
}
