package virtual

// processor runs the ranks that share it, one at a time. While no rank can continue, the processor
// visits the ranks in turn. These visits model ranks that poll and yield to each other.
type processor struct {
	ranks int  // number of ranks that share the processor
	visit Time // duration of one visit
	// busy is true while a rank runs or is scheduled to run. last is the place of the rank that ran
	// last. free is the time at which that rank ended its run. Since then the processor has been
	// visiting ranks.
	busy  bool
	last  int
	free  Time
	ready []*Rank // can continue, but another rank has the processor
}

// request asks for the processor on behalf of a rank. The rank can continue at the time in the argument now.
func (p *processor) request(r *Rank, now Time) {
	if p.busy {
		p.ready = append(p.ready, r)
		return
	}
	p.grant(r, now)
}

// grant schedules a rank to run at the processor's first visit to this rank that is not before the time in the
// argument now.
func (p *processor) grant(r *Rank, now Time) {
	p.busy = true
	at := max(p.free, now)
	if p.ranks > 1 && p.visit > 0 {
		at = p.free + Time(p.distance(r))*p.visit
		if round := Time(p.ranks) * p.visit; at < now {
			at += (now - at + round - 1) / round * round
		}
	}
	r.net.agenda.add(event{at: at, kind: runs, rank: r})
}

// distance returns the number of visits, from 1 to p.ranks, up to and including the next visit to a
// rank. The rank that ran most recently is visited last.
func (p *processor) distance(r *Rank) int {
	return (r.place-p.last+p.ranks-1)%p.ranks + 1
}

// release takes the processor from a rank that waits or has ended, and grants the processor to the
// ready rank that the processor reaches first.
func (p *processor) release(r *Rank) {
	p.busy, p.last, p.free = false, r.place, r.now
	if len(p.ready) == 0 {
		return
	}
	next := 0
	for i, other := range p.ready {
		if p.distance(other) < p.distance(p.ready[next]) {
			next = i
		}
	}
	r = p.ready[next]
	p.ready[next] = p.ready[len(p.ready)-1]
	p.ready = p.ready[:len(p.ready)-1]
	p.grant(r, p.free)
}

// missing returns the average additional time per byte, in nanoseconds, that cache misses cost the rank
// (Model.Miss). It assumes that the ranks of a processor have equally long buffers.
func (r *Rank) missing() float64 {
	m := &r.net.Model
	if m.Cache == 0 {
		return 0
	}
	bytes := float64(r.buffers + r.cost.Scratch)
	if r.processor != nil {
		bytes *= float64(r.processor.ranks)
	}
	return m.Miss * max(1-m.Cache/bytes, 0)
}
