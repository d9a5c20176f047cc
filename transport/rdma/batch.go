package rdma

import (
	"time"

	"github.com/gorun-hpc/gorun/transport"
)

// batches decides which messages share a frame and which requests begin together: over TCP, the
// system call for each is most of the cost of a small message.
//
// A message is sent at once if the peer has sent something since the last such message, as in a
// dialogue, or if that message was sent more than batchWithin ago. Short messages that follow
// share a frame. It is sent
//
//   - by the next Poll or Arm; an armed rank is rung for it;
//   - when it is full, or something else is sent to the peer;
//   - after batchMost, if no goroutine polls.
//
// Short messages that are sent during a Poll share frames, and requests that are posted then
// (answers, Reads, credits) begin at its end. If the process is killed, open frames are lost.
type batches struct {
	// locked runs a function under the caller's lock. It is nil without UseLock: then messages
	// share frames during Poll only.
	locked func(f func())
	// open are the endpoints with an open frame.
	open []*endpoint
	// held says that something waits for begin, beginning that begin is running.
	held, beginning bool
	// armed says that the rank may sleep, rung that it was rung for what waits for begin.
	armed, rung bool
	// timer calls begin if no Poll does; running says that it runs.
	timer   *time.Timer
	running bool
	// base is the origin of times, since a monotonic difference is cheaper than the time of day.
	// within is batchWithin.
	base   time.Time
	within time.Duration
}

// batch is the open frame of an endpoint: the last one that has a slot, and the only
// one that is not posted.
type batch struct {
	open, listed bool
	sequence     uint16
	// size is the smallest size of the next open frame: the length of the last one, or more if
	// that was full.
	size int
	// answered says that the peer has sent something since the last message that was sent at
	// once. began is the time of that message, from batches.base.
	answered bool
	began    time.Duration
}

const (
	// batchedMax is the longest record of an open frame: a longer one is worth a Send.
	batchedMax = 2 << 10
	// batchWithin is the longest time between a message and the next one for which they share a
	// frame.
	batchWithin = 20 * time.Microsecond
	// batchMost is how long a message waits if the processor is free.
	batchMost = 100 * time.Microsecond
)

var _ transport.Locking = (*Transport)(nil)

// UseLock implements transport.Locking.
func (t *Transport) UseLock(locked func(f func())) { t.batches.locked = locked }

// holds reports whether a record of n bytes waits in an open frame.
func (p *endpoint) holds(n int) bool {
	switch c := &p.t.batches; {
	case n > batchedMax:
		return false
	case p.t.reading:
		return true
	case c.locked == nil || p.batch.answered:
		return false
	default:
		return time.Since(c.base)-p.batch.began <= c.within
	}
}

// begun records that a message was sent at once. It is called afterwards, so that the message does
// not wait for the clock.
func (p *endpoint) begun() { p.batch.answered, p.batch.began = false, time.Since(p.t.batches.base) }

// openBatch makes a frame the open one. The flow has a free slot.
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

// appendBatch adds a record to the open frame. If the record does not fit, it posts the frame, if
// that is possible, and returns false.
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

// postBatch posts the open frame, or leaves that to service.
func (p *endpoint) postBatch() {
	if l := p.link; !p.t.room(l) || !p.postNext(l) {
		p.list()
	}
}

// begin posts the open frames and begins the requests that wait.
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

// startTimer starts the timer, which calls begin after batchMost.
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

// stop ends the timer. From then on messages share frames during Poll only.
func (c *batches) stop() {
	if c.timer != nil {
		c.timer.Stop()
	}
	c.locked = nil
}
