package uverbs

import (
	goruntime "runtime"

	"golang.org/x/sys/unix"
)

// Capacity is the number of requests, and of segments per request, for which the queues of a queue
// pair have room.
type Capacity struct {
	Sends, Receives               int
	SendSegments, ReceiveSegments int
	// Inline is the number of bytes that a request may have with FlagInline.
	Inline int
}

// QueuePairConfig describes a queue pair to be made.
type QueuePairConfig struct {
	Domain *ProtectionDomain
	// Sends and Receives are the completion queues for send requests and for receives.
	Sends, Receives *CompletionQueue
	// Shared is the shared receive queue of the queue pair. If it is nil, the queue pair has a
	// receive queue of its own.
	Shared *SharedReceiveQueue
	// Capacity is the minimum capacity of the queue pair.
	Capacity Capacity
	// User is the value of Event.Element in the events of the queue pair.
	User uint64
}

// QueuePair is one end of a reliable connection.
type QueuePair struct {
	// Number identifies the queue pair to peers and in completions.
	Number uint32
	// Granted is the actual capacity.
	Granted Capacity

	context  *Context
	shared   *SharedReceiveQueue
	handle   uint32
	memory   mapping
	sends    sends
	receives receives
	// bell is the command that rings the doorbell. It contains the address of answer.
	bell   []byte
	answer []byte
	pin    goruntime.Pinner
}

// NewQueuePair makes a queue pair in StateReset.
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

// open maps the queues and prepares the doorbell.
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
	// maxSegments and maxInline bound the numbers of segments and of inline bytes in answers.
	maxSegments = 1 << 10
	maxInline   = 1 << 14
)

// PostSends posts requests in order and starts them. It returns the number of posted requests. If
// some requests were not posted, the error is ErrFull or ErrRequest. If the doorbell fails with an
// error of the kernel, the posted requests are not started. The next PostSends that posts a request starts them.
func (q *QueuePair) PostSends(list []SendRequest) (int, error) {
	n, err := q.sends.post(list)
	if n > 0 {
		if e := q.context.kernel.ring(q.bell); e != nil {
			return n, q.context.err("post sends", e)
		}
	}
	return n, err
}

// PostReceives posts receives in order and returns the number of posted receives. If not all are
// posted, the error is ErrFull or ErrRequest.
func (q *QueuePair) PostReceives(list []ReceiveRequest) (int, error) {
	if q.receives == nil {
		return 0, ErrRequest // the queue pair has a shared receive queue, or no receive queue
	}
	return q.receives.post(list)
}

// Close destroys the queue pair. When it has succeeded, the device uses neither its queues nor the
// memory of its requests any more. If completions of the queue pair were not polled before Close,
// it is undefined whether a later Poll returns them.
func (q *QueuePair) Close() error {
	if err := closeObject(q.context, "destroy queue pair", cmdDestroyQP, q.handle, &q.memory); err != nil {
		return err
	}
	q.pin.Unpin()
	held.Delete(q)
	return nil
}

// SharedReceiveQueue is a receive queue from which several queue pairs take receives.
type SharedReceiveQueue struct {
	context  *Context
	handle   uint32
	segments int // the largest number of segments of a receive
	memory   mapping
	queue    receives
}

// NewSharedReceiveQueue makes a queue. The argument entries is the minimum number of receives for
// which the queue has room.
func (d *ProtectionDomain) NewSharedReceiveQueue(entries, segments int) (*SharedReceiveQueue, error) {
	const op = "create shared receive queue"
	c := d.context
	if entries < 1 || entries > maxEntries || segments < 0 || segments > maxSegments {
		return nil, c.err(op, unix.EINVAL)
	}
	request := sharedRequest{domain: d.handle, entries: uint32(entries), segments: uint32(segments)}
	part := make([]byte, c.driver.rooms().shared)
	var a sharedAnswer
	if err := call(c, op, cmdCreateSRQ, &request, &a, nil, part); err != nil {
		return nil, err
	}
	s := &SharedReceiveQueue{context: c, handle: a.handle, segments: segments, memory: mapping{kernel: c.kernel}}
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

// PostReceives posts receives in order and returns the number of posted receives. If not all are
// posted, the error is ErrFull or ErrRequest.
func (s *SharedReceiveQueue) PostReceives(list []ReceiveRequest) (int, error) {
	return s.queue.post(list)
}

// Close destroys the queue. It fails with EBUSY while a queue pair uses the queue.
func (s *SharedReceiveQueue) Close() error {
	return closeObject(s.context, "destroy shared receive queue", cmdDestroySRQ, s.handle, &s.memory)
}
