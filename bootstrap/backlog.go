package bootstrap

import "sync"

// backlog passes on notices that did not fit into the channel of a session, in order, so that a
// rank that does not take them delays no frame behind them: the book, or the end of a fence. A rank
// gets one notice for each loss, each of its agreements, and each communicator that was revoked;
// this bounds the backlog.
type backlog struct {
	to      chan<- Notice
	left    <-chan struct{} // closed when the rank leaves the job: nobody takes notices
	stop    chan struct{}
	stopped chan struct{} // closed when nothing more is passed on

	mu   sync.Mutex // guards what follows
	list []Notice
	over bool // the list is empty, and the goroutine ends
}

// newBacklog begins a backlog with one notice.
func newBacklog(n Notice, to chan<- Notice, left <-chan struct{}) *backlog {
	b := &backlog{to: to, left: left, stop: make(chan struct{}), stopped: make(chan struct{}), list: []Notice{n}}
	go b.run()
	return b
}

// add appends a notice, and returns false if the backlog is over.
func (b *backlog) add(n Notice) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.over {
		b.list = append(b.list, n)
	}
	return !b.over
}

// first returns the notice that is next.
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

// run passes the notices on.
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

// drop ends the backlog: what it has is not passed on.
func (b *backlog) drop() {
	close(b.stop)
	<-b.stopped
}
