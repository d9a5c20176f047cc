package uverbs

import "golang.org/x/sys/unix"

// Channel is a completion channel. An armed completion queue puts an event into it at the next
// completion (see CompletionQueue.Arm).
type Channel struct {
	context *Context
	fd      int
}

// NewChannel makes a completion channel.
func (c *Context) NewChannel() (*Channel, error) {
	const op = "create completion channel"
	var a handleAnswer
	if err := call(c, op, cmdCreateChannel, &plainRequest{}, &a, nil, nil); err != nil {
		return nil, err
	}
	ch := &Channel{context: c, fd: int(int32(a.handle))}
	if err := prepare(ch.fd); err != nil {
		return nil, c.err(op, err)
	}
	return ch, nil
}

// FD returns the file descriptor of the channel. It is readable while the channel has an event. The
// channel owns the descriptor.
func (ch *Channel) FD() int { return ch.fd }

// Next takes an event. It returns false if there is no event.
func (ch *Channel) Next() (bool, error) {
	var b [8]byte // struct ib_uverbs_comp_event_desc
	n, err := readEvent(ch.fd, b[:])
	if n == 0 || err != nil {
		return false, ch.context.err("read completion channel", err)
	}
	return true, nil
}

// Close closes the channel. Its completion queues report no more events.
func (ch *Channel) Close() error {
	return ch.context.err("close completion channel", unix.Close(ch.fd))
}

// CompletionQueue is the queue of the completions of work requests.
type CompletionQueue struct {
	context *Context
	handle  uint32
	memory  mapping
	queue   completions
}

// NewCompletionQueue makes a queue. The argument entries is the minimum number of completions for
// which the queue has room. channel may be nil.
func (c *Context) NewCompletionQueue(entries int, channel *Channel) (*CompletionQueue, error) {
	const op = "create completion queue"
	if entries < 1 || entries > maxEntries {
		return nil, c.err(op, unix.EINVAL)
	}
	request := completionsRequest{entries: uint32(entries), channel: -1}
	if channel != nil {
		request.channel = int32(channel.fd)
	}
	part := make([]byte, c.driver.rooms().completions)
	var a completionsAnswer
	if err := call(c, op, cmdCreateCQ, &request, &a, nil, part); err != nil {
		return nil, err
	}
	q := &CompletionQueue{context: c, handle: a.handle, memory: mapping{kernel: c.kernel}}
	var err error
	if q.queue, err = c.driver.completions(&q.memory, q, part); err == nil && q.queue.capacity() < entries {
		err = nonsense("%d entries in place of %d", q.queue.capacity(), entries)
	}
	if err != nil {
		_ = q.Close()
		return nil, c.err(op, err)
	}
	return q, nil
}

// Capacity returns the number of completions for which the queue has room. If there is no room for
// a completion, the device reports an error (EventCompletionQueueError).
func (q *CompletionQueue) Capacity() int { return q.queue.capacity() }

// Poll moves completions from the queue to out and returns their number. It makes no system call.
func (q *CompletionQueue) Poll(out []Completion) int { return q.queue.poll(out) }

// Arm requests one event in the channel. The event follows at the next completion. No event
// follows for completions that are already in the queue, so the caller has to Poll after Arm.
func (q *CompletionQueue) Arm() error {
	if q.queue.arm() {
		return nil
	}
	return tellKernel(q.context, "arm completion queue", cmdRequestNotify, &notifyRequest{handle: q.handle})
}

// Close destroys the queue. It fails with EBUSY while a queue pair uses the queue.
func (q *CompletionQueue) Close() error {
	return closeObject(q.context, "destroy completion queue", cmdDestroyCQ, q.handle, &q.memory)
}

// closeObject destroys an object, and unmaps its queues afterwards. The device may use the queues
// as long as the object exists.
func closeObject(c *Context, op string, number, handle uint32, m *mapping) error {
	var a destroyAnswer
	if err := call(c, op, number, &destroyRequest{handle: handle}, &a, nil, nil); err != nil {
		return err
	}
	return c.err(op, m.close())
}
