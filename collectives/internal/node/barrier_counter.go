package node

// BarrierCounter is the barrier for members that outnumber processors. Each member counts its
// arrival, and the last member to arrive releases all members by one word. J. Mellor-Crummey and M.
// Scott, "Algorithms for scalable synchronization on shared-memory multiprocessors", ACM Transactions
// on Computer Systems 9 (1991), section 3.1, with a growing number in place of the sense flag.
//
// If the latest small operation before the barrier was a broadcast or a scatter, its root releases
// the members in place of the last member to arrive. So root runs before the other members. If the
// next operation is another broadcast or scatter of this root, root's data is in shared memory when
// the other members run. If another member ran first, it would have to wait until root gets a
// processor. After a scan, member 0 releases the members, because all others wait for its contribution.
//
// Restrictions: none. Cost: p atomic additions to one cache line and, if members share processors,
// one switch between members for each member.
func (g *Group) BarrierCounter() error {
	leader := g.leader
	g.leader = noLeader
	g.step++
	if leader == noLeader {
		return g.meetAtCounter(g.step)
	}
	last, err := g.arrive()
	switch {
	case err != nil:
		return err
	case g.rank != leader:
		if last {
			g.mem.Signal(g.complete, g.step)
		}
		_, err := g.released(g.step)
		return err
	case !last:
		if err := g.completed(g.step); err != nil {
			return err
		}
	}
	g.letGo(g.step)
	return nil
}

// completed waits until all members have arrived at step n. The last member to arrive signals this by
// the word complete.
func (g *Group) completed(n uint64) error {
	if g.spun(g.complete, n) {
		return nil
	}
	if err := g.agreeNext(); err != nil {
		return err
	}
	return g.mem.Await(g.complete, n)
}
