package virtual

// processor runs ranks of a node, one at a time. While none of them can go on it visits them
// in turn, as ranks do that poll and yield to each other.
type processor struct {
	ranks int
	visit Time
	// busy: a rank runs or is about to. last is the place of the one that ran last, since free
	// the processor looks for the next one.
	busy  bool
	last  int
	free  Time
	ready []*Rank
}

// request asks for the processor: the rank can go on from now.
func (p *processor) request(r *Rank, now Time) {
	if p.busy {
		p.ready = append(p.ready, r)
		return
	}
	p.grant(r, now)
}

// grant lets a rank run when the processor visits it.
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

// distance returns how many visits a rank is away, at least one: a rank that waits is visited again
// after all others.
func (p *processor) distance(r *Rank) int {
	return (r.place-p.last+p.ranks-1)%p.ranks + 1
}

// release gives the processor up: the rank waits, or has ended.
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
