package iwarp

// A pair is hot if it was the last to receive: every Progress reads from its socket without
// an event of epoll. After some messages it is removed from epoll, because each segment for
// a socket in epoll costs the sender a callback into this side's epoll. It is added again
// before a goroutine sleeps, when its socket takes no more bytes, and when it is no longer
// hot: after another pair has received, or after many reads without data.

const (
	// hotMax is how many are: each costs a system call in every poll that finds
	// nothing.
	hotMax = 2
	// warmEnough is the number of messages after which epoll stops watching.
	warmEnough = 8
	// quietMost is the number of reads without data after which a pair is no longer hot.
	// One call of epoll_wait for all others is then cheaper than a read of each.
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

// rest adds a hot pair that receives nothing to epoll.
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
