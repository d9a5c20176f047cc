package iwarp

// The queue pairs that most recently received data are called hot. In this file, a pair is a queue
// pair. At most hotMax queue pairs are hot at a time. Every Progress reads from the sockets of hot
// pairs, even if epoll reports no event. After some messages, the socket of a hot pair is removed
// from epoll, because each segment that arrives for a socket in epoll costs a callback into epoll.
// The socket is added to epoll again in three cases: before a goroutine sleeps, when the socket
// takes no more bytes, and when the pair is no longer hot. A pair is no longer hot when hotMax
// other pairs have received data, or after many reads without data.

const (
	// hotMax is the maximum number of hot pairs. Each hot pair costs one system call in every
	// Progress in which the pair receives no data.
	hotMax = 2
	// warmEnough is the number of calls of touch after which the socket of a hot pair is removed from
	// epoll.
	warmEnough = 8
	// quietMost is the number of consecutive reads without data after which a pair is no longer hot.
	// When a pair has been quiet for quietMost reads, one call of epoll_wait for all pairs is
	// cheaper than a read from each hot pair.
	quietMost = 256
)

// touch makes a pair the first of the hot pairs, because it has received data.
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

// rest ends the hot state of a pair that has received nothing for quietMost reads, and adds its
// socket to epoll.
func (d *device) rest(p *queuePair) {
	p.quiet = 0
	p.watch()
	d.cool(p)
}

// cool removes a pair from the hot pairs, if the pair is hot. release calls cool for a pair whose
// socket is given up.
func (d *device) cool(p *queuePair) {
	for i, q := range d.hot {
		if q == p {
			copy(d.hot[i:], d.hot[i+1:])
			d.hot[hotMax-1] = nil
			return
		}
	}
}

// watchHot adds the sockets of all hot pairs to epoll, before a goroutine sleeps.
func (d *device) watchHot() {
	for _, p := range d.hot {
		if p != nil {
			p.watch()
		}
	}
}

// watch adds the socket of the pair to epoll: for input, and also for output while the socket takes
// no more bytes.
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
		// epoll has failed, so the agenda has to read from the socket and to write to it.
		p.readable, p.tx.blocked = true, false
		p.device.later(p)
		return
	}
	p.interest = want
}
