package node

import "github.com/gorun-hpc/gorun/collectives/internal/message"

// AllReduceCounter combines small contributions. It is for members that outnumber processors. Each
// member writes its contribution and counts its arrival. The last member to arrive combines all
// contributions, in rank order, and releases the others. recv may be the same memory as send.
//
// Restrictions: len(send) <= SmallMax. Cost: p n (beta + gamma) at the last member and, if members
// share processors, one switch between members for each member.
func (g *Group) AllReduceCounter(send, recv []byte, r message.Reduction) error {
	n, mine, err := g.begin()
	if err != nil {
		return err
	}
	room := mine.room(len(send))
	copy(room, send)
	combiner, err := g.arrive()
	if err != nil {
		return err
	}
	if combiner {
		g.combine(recv, n, r)
		copy(room, recv)
		g.letGo(n)
		return nil
	}
	last, err := g.released(n)
	if err != nil {
		return err
	}
	copy(recv, g.slot(last, n).room(len(recv)))
	return nil
}
