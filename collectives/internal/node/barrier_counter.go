package node

// BarrierCounter is the barrier for members that outnumber processors: each counts its
// arrival, the last one releases all by one word. J. Mellor-Crummey and M. Scott,
// "Algorithms for scalable synchronization on shared-memory multiprocessors", ACM
// Transactions on Computer Systems 9 (1991), section 3.1, with a growing number in place of
// the sense.
//
// Restrictions: none. Cost: p atomic additions to one line, and one switch per
// member when they share processors.
func (g *Group) BarrierCounter() error {
	g.step++
	return g.meetAtCounter(g.step)
}
