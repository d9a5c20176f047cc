package link

import (
	"bufio"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// queueBytesMax is the number of bytes that may be queued for writing before Room makes its callers
// wait.
const queueBytesMax = 1 << 20

// Conn is one end of a link. Receive may be called by one goroutine at a time. All other methods may be
// called by any goroutine.
type Conn struct {
	in  *bufio.Reader
	out io.Writer

	mu      sync.Mutex // guards the fields from changed to err
	changed *sync.Cond // signals a change of the fields writing and err, or of the length of queue
	queue   []byte     // the frames that wait to be written
	writing bool       // a goroutine is in write
	pausing bool       // true between Pause and Resume, when no beats are sent
	closing bool       // an empty write follows the queue
	err     error      // the first error of writing

	received  atomic.Uint64                 // number of frames received
	next      atomic.Pointer[chan struct{}] // the channel that Heard has returned, nil if there is none
	paused    atomic.Bool                   // the other side has sent a Pause, and no Beat after it
	listening atomic.Bool                   // a goroutine is in Receive
}

// NewConn returns an end of a link that reads from in and writes to out. The Conn closes neither.
func NewConn(in *bufio.Reader, out io.Writer) *Conn {
	c := &Conn{in: in, out: out}
	c.changed = sync.NewCond(&c.mu)
	return c
}

// Send queues a frame whose body is the concatenation of parts. It copies parts. Send never waits, even if
// the peer does not read. Watch detects such a peer by its silence. After an error of writing, Send drops
// frames.
func (c *Conn) Send(k Kind, parts ...[]byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.send(k, parts...)
}

// Pause tells the other side not to count silence until Resume, because this process is about to be
// stopped. Between Pause and Resume no beat is sent, because a beat ends the pause at the other side.
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

// send does the work of Send. The caller holds mu.
func (c *Conn) send(k Kind, parts ...[]byte) {
	if c.err != nil || k == KindBeat && c.pausing {
		return
	}
	c.queue = AppendFrame(c.queue, k, parts...)
	c.wake()
}

// wake starts the goroutine that writes the queue if it does not run. The caller holds mu.
func (c *Conn) wake() {
	if !c.writing {
		c.writing = true
		go c.write()
	}
}

// Pass queues bytes that come from another link. If the bytes are frames, they must be whole frames. If the
// slice frames is empty, Pass marks the end of the stream by an empty write to out after the queue.
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

// Room waits until at most 1 MiB is queued, or writing has failed. A caller that sends an unbounded amount of
// data calls Room before each Send.
func (c *Conn) Room() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.queue) > queueBytesMax && c.err == nil {
		c.changed.Wait()
	}
}

// Flush waits until everything that was queued has been written, and returns the first error of writing.
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

// Receive waits for the next frame that is neither a Beat nor a Pause, and returns it. The body
// belongs to the caller.
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

// Heard returns a channel that is closed when Receive has read the next frame of any kind, including a Beat.
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

// Silence is the time without frames after which gorun and its agents declare each other lost. It is long
// enough that a network failure of 2 s does not end a job. TCP's timeout doubles with each retransmission (RFC
// 6298, section 5). TCP therefore retransmits a lost beat at the latest 3.0 s after the beat, or 4.3 s if the
// round trip takes 100 ms. The last beat before the failure may be one interval older. A longer Silence would
// delay the survivors of a lost host. With -on-failure respawn, the loss must delay them by less than 6 s.
const Silence = 4750 * time.Millisecond

// beats is the number of beats that are sent during the time of silence after which the other side is
// declared lost. With Silence, one beat is sent every 250 ms.
const beats = 19

// Watch sends beats until stop or lost is called. It calls lost if no frame has arrived for the time silence while
// a goroutine was in Receive. While the other side has announced a pause, it does not call lost. Watch measures
// silence by counting its own beats instead of reading a clock. The time during which this process was stopped is
// therefore not counted.
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
