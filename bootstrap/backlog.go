package bootstrap

import "sync"

// backlog is a queue of the notices that did not fit into the channel of a session, with a goroutine that
// passes them on in order. Because of the backlog, the session can act on later frames, such as the book or
// the end of a fence, even if the rank does not receive its notices. The backlog has no limit, but a session
// gets only one notice for each loss, at most one for each agreement, and usually one for each communicator
// that is revoked.
type backlog struct {
	to      chan<- Notice
	left    <-chan struct{} // closed when the rank leaves the job and receives no more notices
	stop    chan struct{}   // closed by drop
	stopped chan struct{}   // closed when the goroutine has ended

	mu   sync.Mutex // guards the fields below
	list []Notice   // oldest first
	over bool       // the goroutine has found the list empty, and is ending or has ended
}

// newBacklog starts a backlog that holds one notice.
func newBacklog(n Notice, to chan<- Notice, left <-chan struct{}) *backlog {
	b := &backlog{to: to, left: left, stop: make(chan struct{}), stopped: make(chan struct{}), list: []Notice{n}}
	go b.run()
	return b
}

// add appends a notice. If the goroutine has ended, or is ending because the list was empty, add returns
// false and appends nothing.
func (b *backlog) add(n Notice) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.over {
		b.list = append(b.list, n)
	}
	return !b.over
}

// first removes the oldest notice and returns it. If there is no notice, first sets over, so that add refuses
// further notices, and returns false.
func (b *backlog) first() (Notice, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.over = len(b.list) == 0; b.over {
		return Notice{}, false
	}
	n := b.list[0]
	b.list = b.list[1:]
	return n, true
}

// run passes the notices on. It returns when no notice is left, when the rank has left the job, or when drop
// is called.
func (b *backlog) run() {
	defer close(b.stopped)
	for {
		n, any := b.first()
		if !any {
			return
		}
		select {
		case b.to <- n:
		case <-b.left:
			return
		case <-b.stop:
			return
		}
	}
}

// drop discards the notices of the backlog and returns when its goroutine has ended.
func (b *backlog) drop() {
	close(b.stop)
	<-b.stopped
}
