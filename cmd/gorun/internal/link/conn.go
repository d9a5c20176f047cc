package link

import (
	"bufio"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// queueBytesMax is how much may wait to be written before Room makes its
// callers wait.
const queueBytesMax = 1 << 20

// Conn is one end of a link. Send, Room and Flush may be called from any
// goroutine, Receive from one at a time.
type Conn struct {
	in  *bufio.Reader
	out io.Writer

	mu      sync.Mutex // guards what follows
	changed *sync.Cond // writing, err or the queue's length
	queue   []byte
	writing bool // a goroutine writes
	pausing bool // between Pause and Resume: no beats
	closing bool // an empty write follows the queue
	err     error

	received  atomic.Uint64                 // frames received
	next      atomic.Pointer[chan struct{}] // what Heard has returned, nil for nothing
	paused    atomic.Bool                   // no beat followed the last Pause
	listening atomic.Bool                   // a goroutine is in Receive
}

// NewConn makes an end of a link that reads from in and writes to out. It owns
// neither.
func NewConn(in *bufio.Reader, out io.Writer) *Conn {
	c := &Conn{in: in, out: out}
	c.changed = sync.NewCond(&c.mu)
	return c
}

// Send sends a frame with a body in parts, which are copied. It never waits: a peer that
// does not read is detected by its silence. After an error of writing, frames are dropped.
func (c *Conn) Send(k Kind, parts ...[]byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.send(k, parts...)
}

// Pause tells the other side not to count silence until Resume: this process is about to be
// stopped. A beat after it would end the pause.
func (c *Conn) Pause() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.send(KindPause)
	c.pausing = true
}

// Resume ends a pause.
func (c *Conn) Resume() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pausing = false
	c.send(KindBeat)
}

// send is Send under the lock.
func (c *Conn) send(k Kind, parts ...[]byte) {
	if c.err != nil || k == KindBeat && c.pausing {
		return
	}
	c.queue = AppendFrame(c.queue, k, parts...)
	c.wake()
}

// wake starts the goroutine that writes the queue.
func (c *Conn) wake() {
	if !c.writing {
		c.writing = true
		go c.write()
	}
}

// Pass queues whole frames of another link. Nothing at all is the end of what is written,
// and reaches the writer as an empty write.
func (c *Conn) Pass(frames []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return
	}
	c.queue = append(c.queue, frames...)
	c.closing = c.closing || len(frames) == 0
	c.wake()
}

// Room waits until the queue is short. It is called before a Send whose amount of data is
// not bounded otherwise.
func (c *Conn) Room() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.queue) > queueBytesMax && c.err == nil {
		c.changed.Wait()
	}
}

// Flush waits until everything was written and returns the first error of
// writing.
func (c *Conn) Flush() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.writing {
		c.changed.Wait()
	}
	return c.err
}

func (c *Conn) write() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for (len(c.queue) > 0 || c.closing) && c.err == nil {
		queue := c.queue
		c.queue = nil
		if len(queue) == 0 {
			c.closing = false
		}
		c.changed.Broadcast()
		c.mu.Unlock()
		_, err := c.out.Write(queue)
		c.mu.Lock()
		c.err = err
	}
	c.writing = false
	c.changed.Broadcast()
}

// Receive returns the next frame that is not a beat. The body is the caller's.
func (c *Conn) Receive() (Kind, []byte, error) {
	c.listening.Store(true)
	defer c.listening.Store(false)
	for {
		k, body, err := ReadFrame(c.in)
		if err != nil {
			return 0, nil, err
		}
		c.received.Add(1)
		if heard := c.next.Swap(nil); heard != nil {
			close(*heard)
		}
		switch k {
		case KindBeat, KindPause:
			c.paused.Store(k == KindPause)
		default:
			return k, body, nil
		}
	}
}

// Heard returns a channel that is closed when Receive has taken the next frame, beats included.
func (c *Conn) Heard() <-chan struct{} {
	heard := make(chan struct{})
	for {
		if c.next.CompareAndSwap(nil, &heard) {
			return heard
		}
		if other := c.next.Load(); other != nil {
			return *other
		}
	}
}

// Silence is the time without frames after which gorun and its agents count each other as
// lost. A network that fails for 2 s and comes back ends no job: TCP sends a lost beat again
// 3.0 s (at 100 ms round trip 4.3 s) after it at the latest, since the pauses between its
// attempts double (RFC 6298, section 5), and the last beat before the failure may be a beat's
// time older. A longer silence would make survivors of a host wait longer: -on-failure respawn
// is to cost them less than 6 s.
const Silence = 4750 * time.Millisecond

// beats is how many beats are sent during the time of silence after which the other side
// counts as lost: one each 250 ms.
const beats = 19

// Watch sends beats, and calls lost once if Receive has waited for the time of silence,
// unless the other side announced a pause. Silence is counted in beats and not read from a
// clock, so that a process that was stopped does not count the time of its stop. stop ends
// it.
func (c *Conn) Watch(silence time.Duration, lost func()) (stop func()) {
	done := make(chan struct{})
	go func() {
		tick := time.NewTicker(silence / beats)
		defer tick.Stop()
		silent, received := 0, c.received.Load()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
			}
			c.Send(KindBeat)
			now := c.received.Load()
			if silent++; now != received || c.paused.Load() || !c.listening.Load() {
				silent, received = 0, now
			}
			if silent == beats {
				lost()
				return
			}
		}
	}()
	return sync.OnceFunc(func() { close(done) })
}
