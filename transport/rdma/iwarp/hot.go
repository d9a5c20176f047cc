package iwarp

// A pair is hot when it was heard from last: every Progress reads from its socket
// without being told that it can. When some messages have come that way, epoll stops
// watching it, because being watched costs the sender of each segment a callback
// into this side's epoll. It is watched again before anybody sleeps, when its
// socket takes no more, and when it is hot no longer: after another one was heard from,
// or when many reads in a row have found nothing.

const (
	// hotMax is how many are: each costs a system call in every poll that finds
	// nothing.
	hotMax = 2
	// warmEnough is the number of messages after which epoll stops watching.
	warmEnough = 8
	// quietMost is the number of reads in vain after which a pair is hot no longer. One
	// look at epoll, for all that are not, is then cheaper than a read of each.
	quietMost = 256
)

// touch makes a pair hot because something has come from it.
func (d *device) touch(p *queuePair) {
	if p.warm++; p.warm >= warmEnough && p.interest != 0 && !p.tx.blocked && !d.napping.Load() {
		p.interest = 0
		d.unwatch(p.fd)
	}
	if d.hot[0] == p {
		return
	}
	for i, q := range d.hot {
		if q == p || q == nil || i == hotMax-1 {
			if q != p && q != nil {
				q.watch()
			}
			copy(d.hot[1:], d.hot[:i])
			d.hot[0] = p
			return
		}
	}
}

// rest has epoll watch a pair that is hot and not heard from.
func (d *device) rest(p *queuePair) {
	p.quiet = 0
	p.watch()
	d.cool(p)
}

// cool ends that, for a pair that is gone.
func (d *device) cool(p *queuePair) {
	for i, q := range d.hot {
		if q == p {
			copy(d.hot[i:], d.hot[i+1:])
			d.hot[hotMax-1] = nil
			return
		}
	}
}

// watchHot has epoll watch all pairs.
func (d *device) watchHot() {
	for _, p := range d.hot {
		if p != nil {
			p.watch()
		}
	}
}

// watch has epoll watch the pair for what it waits for.
func (p *queuePair) watch() {
	want := uint32(eventsIn)
	if p.tx.blocked {
		want = eventsInOut
	}
	if p.interest&want == want {
		return
	}
	p.warm = 0
	if err := p.device.watch(p.fd, p, want); err != nil {
		p.readable = true // without epoll, by looking every time
		p.device.later(p)
		return
	}
	p.interest = want
}
