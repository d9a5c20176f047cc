package node

// BarrierFlags is the dissemination barrier (see message.BarrierDissemination) with flags in shared
// memory, one cache line for each flag. In round k member q sets the flag of member q+2^k (modulo p),
// and waits for its own flag of the round.
//
// Restrictions: slow if members outnumber processors, because each member may then have to switch
// to other members in each of the ceil(log p) rounds. Cost: ceil(log p) alpha; alpha is the
// transfer of a cache line.
func (g *Group) BarrierFlags() error {
	g.step++
	for k, flag := range g.flags {
		g.mem.Signal(g.next[k], g.step<<markBits|g.said.mark)
		if err := g.await(flag, g.step<<markBits); err != nil {
			return err
		}
		// The member that sets the flag may already be in the next barrier. Then the flag has the
		// fingerprint of that barrier, and the method marked must not compare this fingerprint.
		if v := flag.Load(); v>>markBits == g.step {
			if err := g.marked(g.before[k], v); err != nil {
				return err
			}
		}
	}
	g.floor = g.step
	return nil
}
