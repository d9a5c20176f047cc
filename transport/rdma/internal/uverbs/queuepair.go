package uverbs

import (
	goruntime "runtime"

	"golang.org/x/sys/unix"
)

// Capacity is what the queues of a queue pair have room for.
type Capacity struct {
	Sends, Receives               int
	SendSegments, ReceiveSegments int
	// Inline is in bytes.
	Inline int
}

// QueuePairConfig says what a queue pair is.
type QueuePairConfig struct {
	Domain *ProtectionDomain
	// Sends and Receives take the completions.
	Sends, Receives *CompletionQueue
	// Shared is where receives come from, or nil for a queue of its own.
	Shared *SharedReceiveQueue
	// Capacity is what is wanted, at least.
	Capacity Capacity
	// User comes back in events.
	User uint64
}

// QueuePair is one end of a reliable connection.
type QueuePair struct {
	// Number is what peers and completions call it.
	Number uint32
	// Granted is what there is room for.
	Granted Capacity

	context  *Context
	shared   *SharedReceiveQueue
	handle   uint32
	memory   mapping
	sends    sends
	receives receives
	// bell is the command of the doorbell, with the place of its answer.
	bell   []byte
	answer []byte
	pin    goruntime.Pinner
}

// NewQueuePair makes a queue pair in its first state.
func (c *Context) NewQueuePair(config *QueuePairConfig) (*QueuePair, error) {
	const op = "create queue pair"
	want := &config.Capacity
	for _, n := range []int{want.Sends, want.Receives, want.SendSegments, want.ReceiveSegments, want.Inline} {
		if n < 0 || n > maxEntries {
			return nil, c.err(op, unix.EINVAL)
		}
	}
	request := pairRequest{
		user: config.User, domain: config.Domain.handle, sends: config.Sends.handle, receives: config.Receives.handle,
		maxSends: uint32(want.Sends), maxReceives: uint32(want.Receives), maxSendSegs: uint32(want.SendSegments),
		maxReceiveSegs: uint32(want.ReceiveSegments), maxInline: uint32(want.Inline), kind: queuePairTypeRC,
	}
	if config.Shared != nil {
		request.shared, request.sharesReceives, request.maxReceives, request.maxReceiveSegs = config.Shared.handle, 1, 0, 0
	}
	part := make([]byte, c.driver.rooms().pair)
	var a pairAnswer
	if err := call(c, op, cmdCreateQP, &request, &a, nil, part); err != nil {
		return nil, err
	}
	q := &QueuePair{Number: a.number, context: c, shared: config.Shared, handle: a.handle, memory: mapping{kernel: c.kernel}}
	if err := q.open(want, &a, part); err != nil {
		_ = q.Close()
		return nil, c.err(op, err)
	}
	return q, nil
}

// open maps the queues.
func (q *QueuePair) open(want *Capacity, a *pairAnswer, part []byte) error {
	if a.maxSendSegs > maxSegments || a.maxReceiveSegs > maxSegments || a.maxInline > maxInline {
		return nonsense("%d and %d segments, %d bytes inline", a.maxSendSegs, a.maxReceiveSegs, a.maxInline)
	}
	q.Granted = Capacity{SendSegments: int(a.maxSendSegs), ReceiveSegments: int(a.maxReceiveSegs), Inline: int(a.maxInline)}
	var err error
	if q.sends, q.receives, err = q.context.driver.pair(&q.memory, q, part); err != nil {
		return err
	}
	q.Granted.Sends = q.sends.capacity()
	if q.receives != nil {
		q.Granted.Receives = q.receives.capacity()
	}
	if g := &q.Granted; g.Sends < want.Sends || g.SendSegments < want.SendSegments || g.Inline < want.Inline ||
		q.shared == nil && (g.Receives < want.Receives || g.ReceiveSegments < want.ReceiveSegments) {
		return nonsense("%+v in place of %+v", *g, *want)
	}
	q.bell, q.answer = append([]byte(nil), bytesOf(&doorbellRequest{handle: q.handle, wqeSize: sendRequestSize})...), make([]byte, 8)
	setHeader(q.bell, cmdPostSend, 4)
	q.pin.Pin(&q.answer[0])
	held.Store(q, nil)
	setResponse(q.bell, q.answer)
	return nil
}

const (
	// maxSegments and maxInline bound what an answer may say.
	maxSegments = 1 << 10
	maxInline   = 1 << 14
)

// PostSends posts requests, in order, and starts them. It returns how many were posted;
// fewer than all with ErrFull, ErrRequest, or an error of the kernel, after which they are
// posted but not started: the next post starts them.
func (q *QueuePair) PostSends(list []SendRequest) (int, error) {
	n, err := q.sends.post(list)
	if n > 0 {
		if e := q.context.kernel.ring(q.bell); e != nil {
			return n, q.context.err("post sends", e)
		}
	}
	return n, err
}

// PostReceives posts receives, in order, and returns how many: fewer than all with ErrFull
// or ErrRequest.
func (q *QueuePair) PostReceives(list []ReceiveRequest) (int, error) {
	if q.receives == nil {
		return 0, ErrRequest // there is a shared one, or none
	}
	return q.receives.post(list)
}

// Close destroys the queue pair. When it returns, the device uses neither its queues nor
// the memory of its requests any more; their completions that were not polled may be there
// or not.
func (q *QueuePair) Close() error {
	if err := closeObject(q.context, "destroy queue pair", cmdDestroyQP, q.handle, &q.memory); err != nil {
		return err
	}
	q.pin.Unpin()
	held.Delete(q)
	return nil
}

// SharedReceiveQueue holds the receives of several queue pairs.
type SharedReceiveQueue struct {
	// Segments is how many a receive may have.
	Segments int

	context *Context
	handle  uint32
	memory  mapping
	queue   receives
}

// NewSharedReceiveQueue makes a queue for at least so many receives. When fewer than limit
// are left, an event says so, once; 0 is none.
func (d *ProtectionDomain) NewSharedReceiveQueue(entries, segments, limit int, user uint64) (*SharedReceiveQueue, error) {
	const op = "create shared receive queue"
	c := d.context
	if entries < 1 || entries > maxEntries || segments < 0 || segments > maxSegments || limit < 0 || limit > entries {
		return nil, c.err(op, unix.EINVAL)
	}
	request := sharedRequest{user: user, domain: d.handle, entries: uint32(entries), segments: uint32(segments), limit: uint32(limit)}
	part := make([]byte, c.driver.rooms().shared)
	var a sharedAnswer
	if err := call(c, op, cmdCreateSRQ, &request, &a, nil, part); err != nil {
		return nil, err
	}
	s := &SharedReceiveQueue{Segments: segments, context: c, handle: a.handle, memory: mapping{kernel: c.kernel}}
	var err error
	if s.queue, err = c.driver.shared(&s.memory, s, part); err == nil && s.queue.capacity() < entries {
		err = nonsense("%d entries in place of %d", s.queue.capacity(), entries)
	}
	if err != nil {
		_ = s.Close()
		return nil, c.err(op, err)
	}
	return s, nil
}

// Capacity is how many receives fit.
func (s *SharedReceiveQueue) Capacity() int { return s.queue.capacity() }

// PostReceives posts receives, in order, and returns how many: fewer than all with ErrFull
// or ErrRequest.
func (s *SharedReceiveQueue) PostReceives(list []ReceiveRequest) (int, error) {
	return s.queue.post(list)
}

// SetLimit asks for one more event when fewer than limit receives are left.
func (s *SharedReceiveQueue) SetLimit(limit int) error {
	return tellKernel(s.context, "set limit", cmdModifySRQ, &limitRequest{handle: s.handle, mask: sharedQueueLimitBit, limit: uint32(limit)})
}

// Close destroys the queue. It is EBUSY while a queue pair uses it.
func (s *SharedReceiveQueue) Close() error {
	return closeObject(s.context, "destroy shared receive queue", cmdDestroySRQ, s.handle, &s.memory)
}
