package uverbs

import (
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// Channel is where completion queues report that they have something.
type Channel struct {
	context *Context
	fd      int
}

// NewChannel makes a channel.
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

// FD is a descriptor that is readable when an event waits. It belongs to the channel.
func (ch *Channel) FD() int { return ch.fd }

// Next takes an event and returns the User value of the completion queue. It returns false
// when there is none.
func (ch *Channel) Next() (user uint64, ok bool, err error) {
	var b [8]byte // struct ib_uverbs_comp_event_desc
	n, err := readEvent(ch.fd, b[:])
	if n == 0 || err != nil {
		return 0, false, ch.context.err("read completion channel", err)
	}
	return binary.NativeEndian.Uint64(b[:]), true, nil
}

// Close ends the channel. Queues that report there lose it.
func (ch *Channel) Close() error {
	return ch.context.err("close completion channel", unix.Close(ch.fd))
}

// CompletionQueue is where requests are reported done.
type CompletionQueue struct {
	context *Context
	handle  uint32
	memory  mapping
	queue   completions
}

// NewCompletionQueue makes a queue for at least so many entries. channel may be nil; user
// comes back in its events, and in those of the device.
func (c *Context) NewCompletionQueue(entries int, channel *Channel, user uint64) (*CompletionQueue, error) {
	const op = "create completion queue"
	if entries < 1 || entries > maxEntries {
		return nil, c.err(op, unix.EINVAL)
	}
	request := completionsRequest{user: user, entries: uint32(entries), channel: -1}
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

// Capacity is how many entries fit. One more is an error of the device.
func (q *CompletionQueue) Capacity() int { return q.queue.capacity() }

// Poll takes completions, and returns how many. It makes no system call.
func (q *CompletionQueue) Poll(out []Completion) int { return q.queue.poll(out) }

// Arm asks for one event of the channel: at the next completion, or at the next one that
// is solicited or an error. Completions from before it need a Poll after it.
func (q *CompletionQueue) Arm(solicitedOnly bool) error {
	if q.queue.arm(solicitedOnly) {
		return nil
	}
	request := notifyRequest{handle: q.handle}
	if solicitedOnly {
		request.solicitedOnly = 1
	}
	return tellKernel(q.context, "arm completion queue", cmdRequestNotify, &request)
}

// Close ends the queue. It is EBUSY while a queue pair uses it.
func (q *CompletionQueue) Close() error {
	return closeObject(q.context, "destroy completion queue", cmdDestroyCQ, q.handle, &q.memory)
}

// closeObject destroys an object, then unmaps its queues: a device may use them until then.
func closeObject(c *Context, op string, number, handle uint32, m *mapping) error {
	var a destroyAnswer
	if err := call(c, op, number, &destroyRequest{handle: handle}, &a, nil, nil); err != nil {
		return err
	}
	return c.err(op, m.close())
}
