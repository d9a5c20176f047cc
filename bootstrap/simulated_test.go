package bootstrap_test

import (
	"io"
	"math/rand/v2"
	"sync"
	"time"
)

// timeline is the virtual time of a simulated job. Messages arrive after random delays, and each
// arrival is an event, at which happen is called.
type timeline struct {
	mu     sync.Mutex // guards random and events
	random *rand.Rand
	events int
	happen func(event int) // called without mu
}

// delay returns zero with a probability of 1/3, and otherwise a random duration below most.
func (l *timeline) delay(most time.Duration) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.random.IntN(3) == 0 {
		return 0
	}
	return time.Duration(l.random.Int64N(int64(most)))
}

// pick returns a random number below n.
func (l *timeline) pick(n int) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.random.IntN(n)
}

// arrives counts an event and calls happen.
func (l *timeline) arrives() {
	l.mu.Lock()
	l.events++
	event := l.events
	l.mu.Unlock()
	l.happen(event)
}

// lane is one direction of a connection. Its items arrive in order, each after a random delay.
type lane struct {
	line  *timeline
	queue chan parcelOfTime
	mu    sync.Mutex // guards what follows
	last  time.Time
	shut  bool
}

type parcelOfTime struct {
	due  time.Time
	act  func()
	data []byte // bytes of a connection; nil if act is set
}

func newLane(line *timeline) *lane { return &lane{line: line, queue: make(chan parcelOfTime, 1024)} }

// put enqueues an item. If the lane is closed, put does nothing.
func (l *lane) put(p parcelOfTime) {
	delay := l.line.delay(3 * time.Millisecond)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.shut {
		return
	}
	if p.due = time.Now().Add(delay); p.due.Before(l.last) {
		p.due = l.last
	}
	l.last = p.due
	l.queue <- p
}

// close closes the lane. Items that were enqueued before still arrive.
func (l *lane) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.shut {
		l.shut = true
		close(l.queue)
	}
}

// run calls the function act of each item when the item arrives. It returns when the lane is closed and all items have
// arrived.
func (l *lane) run() {
	for p := range l.queue {
		time.Sleep(time.Until(p.due))
		l.line.arrives()
		p.act()
	}
}

// simulatedConn is one end of a connection that consists of two lanes.
type simulatedConn struct {
	in, out *lane
	rest    []byte
	closed  chan struct{}
	once    sync.Once
}

var _ io.ReadWriteCloser = (*simulatedConn)(nil)

// newConnection returns the two ends of a new connection.
func newConnection(line *timeline) (a, b *simulatedConn) {
	to, from := newLane(line), newLane(line)
	return &simulatedConn{in: from, out: to, closed: make(chan struct{})}, &simulatedConn{in: to, out: from, closed: make(chan struct{})}
}

// Read implements io.Reader.
func (c *simulatedConn) Read(b []byte) (int, error) {
	if len(c.rest) == 0 {
		select {
		case p, more := <-c.in.queue:
			if !more {
				return 0, io.EOF
			}
			time.Sleep(time.Until(p.due))
			if c.isClosed() {
				return 0, io.ErrClosedPipe
			}
			c.in.line.arrives()
			c.rest = p.data
		case <-c.closed:
			return 0, io.ErrClosedPipe
		}
	}
	n := copy(b, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

// Write implements io.Writer.
func (c *simulatedConn) Write(b []byte) (int, error) {
	if c.isClosed() {
		return 0, io.ErrClosedPipe
	}
	c.out.put(parcelOfTime{data: append([]byte(nil), b...)})
	return len(b), nil
}

func (c *simulatedConn) isClosed() bool {
	select {
	case <-c.closed:
		return true
	default:
		return false
	}
}

// Close implements io.Closer. Bytes that were written before still arrive at the other end.
func (c *simulatedConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	c.out.close()
	return nil
}
