package rdma

import (
	"time"

	"github.com/gorun-hpc/gorun/transport"
)

// batches decides which messages share a frame and which work requests the adapter begins together.
// Over TCP, the adapter makes a system call for each frame and each work request that it begins
// alone. This system call is most of the cost of a small message.
//
// Outside of a Poll, a message is sent at once if the peer has sent an eager frame since this rank last
// sent the peer a message at once, as in a dialogue. It is also sent at once if the last message that was
// sent to the peer at once was sent more than batchWithin ago. Short messages that are not sent at once
// share a frame, called the open frame of the endpoint. As long as there is an open frame, all short
// messages to the peer are appended to it. The open frame is sent
//   - by the next Poll or Arm; if the rank is armed, the transport rings the rank so that the rank
//     polls;
//   - when the frame is full, or when a longer message or another kind of record is sent to the peer;
//   - after the time batchMost, if no goroutine polls.
//
// During a Poll, all short messages share frames. The adapter begins the work requests that are
// posted during a Poll (answers, Reads, credits) at the end of the Poll at the latest. If the process is killed,
// messages in open frames are lost.
type batches struct {
	// locked runs a function under the engine's lock. locked is nil before UseLock and after stop.
	// While locked is nil, messages share frames only during a Poll.
	locked func(f func())
	// open are the endpoints that may have an open frame.
	open []*endpoint
	// held is true if there are open frames, or work requests that the adapters hold back. The
	// method begin posts the frames and begins the requests. beginning is true while begin runs.
	held, beginning bool
	// armed is true while the rank is armed. Then the rank may sleep. rung is true if the rank
	// was rung for an open frame since the last call of begin.
	armed, rung bool
	// timer calls begin, in case no Poll has called begin earlier. running is true while the timer runs.
	timer   *time.Timer
	running bool
	// base is the time from which times are measured. Reading the time since base is cheaper than
	// reading the time of day, because it needs only the monotonic clock. within is batchWithin.
	base   time.Time
	within time.Duration
}

// batch is the state of the open frame of an endpoint. The open frame is the newest of the
// unacknowledged frames (endpoint.slots), and the only one of them that has never been posted.
type batch struct {
	// open is true if there is an open frame. listed is true if the endpoint is in batches.open.
	open, listed bool
	sequence     uint16 // sequence number of the open frame
	// size is the smallest permitted size in bytes of the buffer of the next open frame. Normally
	// size is the length of the last open frame. If a record could not be appended to the last open
	// frame, size is larger than the buffer of that frame, so that the next open frame gets a buffer
	// of the next larger class, if there is one.
	size int
	// answered is true if the peer has sent an eager frame since the last message that was sent at
	// once.
	// began is the time at which that message was sent, measured from batches.base.
	answered bool
	began    time.Duration
}

const (
	// batchedMax is the length in bytes of the longest record in an open frame. A longer record is
	// sent as a frame of its own.
	batchedMax = 2 << 10
	// batchWithin is the time for which messages share a frame after a message was sent at once.
	batchWithin = 20 * time.Microsecond
	// batchMost is the time after which the timer posts an open frame. The timer is late if no
	// processor is free.
	batchMost = 100 * time.Microsecond
)

var _ transport.Locking = (*Transport)(nil)

// UseLock implements transport.Locking.
func (t *Transport) UseLock(locked func(f func())) { t.batches.locked = locked }

// holds reports whether a new record of n bytes has to wait in an open frame instead of being sent
// at once.
func (p *endpoint) holds(n int) bool {
	switch c := &p.t.batches; {
	case n > batchedMax:
		return false
	case p.t.reading:
		return true
	case c.locked == nil || p.batch.answered:
		return false
	default:
		return p.t.now()-p.batch.began <= c.within
	}
}

// begun records that a message was sent at once. It is called after the message has been sent, so
// that the reading of the clock does not delay the message.
func (p *endpoint) begun() { p.batch.answered, p.batch.began = false, p.t.now() }

// openBatch makes the frame in buffer b the open frame. The argument length is the number of bytes
// that the frame has so far. The caller ensures that the flow has a free slot. Outside of a Poll,
// openBatch rings this rank if the rank is armed and was not rung yet. It also starts the timer if
// there is a function locked and the timer does not run yet.
func (p *endpoint) openBatch(b buffer, length int) {
	c := &p.t.batches
	p.batch.sequence, p.batch.open = p.flow.Take()
	p.slots[p.flow.Slot(p.batch.sequence)] = sent{b, length, nil}
	if !p.batch.listed {
		p.batch.listed = true
		c.open = append(c.open, p)
	}
	c.held = true
	if p.t.reading {
		return
	}
	if c.armed && !c.rung {
		c.rung = true
		p.t.ring()
	}
	if !c.running && c.locked != nil {
		c.running = true
		p.t.startTimer()
	}
}

// appendBatch appends a record to the open frame and returns true. If the record is too long or
// does not fit, appendBatch posts the open frame, if that is possible, and returns false.
func (p *endpoint) appendBatch(h transport.Header, payload []byte) bool {
	s := &p.slots[p.flow.Slot(p.batch.sequence)]
	n := recordBytes + padded(len(payload))
	size := p.sends.sizes[s.class]
	if n > batchedMax || s.length+n > min(size, headBytes+recordBytes+p.maxEager) {
		p.batch.size = min(size+1, p.sends.sizes[classes-1])
		p.postBatch()
		return false
	}
	s.length += putRecord(p.sends.bytes(&s.buffer)[s.length:], recordMessage, h, payload)
	return true
}

// postBatch posts the open frame. If postBatch cannot post the frame now, it adds the endpoint to
// the list of endpoints for which the next Poll tries again (see service).
func (p *endpoint) postBatch() {
	if l := p.link; !p.t.room(l) || !p.postNext(l) {
		p.list()
	}
}

// begin posts the open frames and makes the adapters begin the work requests that they hold back.
func (t *Transport) begin() {
	c := &t.batches
	if !c.held {
		return
	}
	c.beginning = true
	for _, p := range c.open {
		p.batch.listed = false
		if p.batch.open {
			p.batch.size = p.slots[p.flow.Slot(p.batch.sequence)].length
			p.postBatch()
		}
	}
	clear(c.open)
	c.open = c.open[:0]
	c.held, c.beginning, c.rung = false, false, false
	for _, r := range t.polled {
		if r.held {
			r.held = false
			r.adapter.Begin()
		}
	}
}

// startTimer starts the timer, which calls begin after batchMost under the engine's lock.
func (t *Transport) startTimer() {
	c := &t.batches
	if c.timer != nil {
		c.timer.Reset(batchMost)
		return
	}
	locked, late := c.locked, func() {
		c.running = false
		t.begin()
	}
	c.timer = time.AfterFunc(batchMost, func() { locked(late) })
}

// stop stops the timer. After the call of stop, messages share frames only during a Poll.
func (c *batches) stop() {
	if c.timer != nil {
		c.timer.Stop()
	}
	c.locked = nil
}
