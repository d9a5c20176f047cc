package iwarp

// The pairs that received last are hot, at most hotMax of them. Every Progress reads from the
// sockets of hot pairs without an event of epoll. After some messages, the socket of a hot pair is
// removed from epoll, because each segment for a socket in epoll costs the sender a callback into
// this side's epoll. The socket is added again before a goroutine sleeps, when the socket takes no
// more bytes, and when the pair is no longer hot: after other pairs have received, or after many
// reads without data.

const (
	// hotMax is the maximum number of hot pairs. Each costs one system call in every Progress in
	// which the pair has nothing to receive.
	hotMax = 2
	// warmEnough is the number of messages after which the socket of a hot pair is removed from
	// epoll.
	warmEnough = 8
	// quietMost is the number of consecutive reads without data after which a pair is no longer
	// hot. One call of epoll_wait for all other pairs is then cheaper than a read from each hot
	// one.
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

// cool removes a pair from the hot pairs, if it is one of them. release calls it for a pair whose
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

// watch adds the socket of the pair to epoll: for input and, while the socket takes no more bytes,
// for output.
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
		p.readable = true // epoll has failed: the agenda reads the socket instead
		p.device.later(p)
		return
	}
	p.interest = want
}
