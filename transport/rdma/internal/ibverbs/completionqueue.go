package ibverbs

import (
	"math/bits"
	goruntime "runtime"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/uverbs"
)

const (
	// maxEntries bounds the numbers of entries, segments and inline bytes that a caller may ask for.
	maxEntries = 1 << 22
	// pollBatch is the maximum number of completions that one call of the library returns.
	pollBatch = 32
)

// Channel is a completion channel. An armed completion queue puts an event into it at the next
// completion (see CompletionQueue.Arm).
type Channel struct {
	context *Context
	object  *channelObject
}

// NewChannel makes a completion channel.
func (c *Context) NewChannel() (*Channel, error) {
	const op = "create completion channel"
	o, err := begin[channelObject](c, op, c.library.createChannel, addressOf(c.object), 0, 0, 0, 0)
	if err != nil {
		return nil, err
	}
	ch := &Channel{context: c, object: o}
	if err := unix.SetNonblock(int(o.fd), true); err != nil {
		_ = ch.Close()
		return nil, c.err(op, err)
	}
	return ch, nil
}

// FD returns a file descriptor that is readable while an event is available. Channel.Close closes
// it.
func (ch *Channel) FD() int { return int(ch.object.fd) }

// Next takes an event. It returns false if no event is available.
func (ch *Channel) Next() (bool, error) {
	const op = "read completion channel"
	c := ch.context
	if ch.object == nil {
		return false, c.err(op, uverbs.ErrClosed)
	}
	var pin goruntime.Pinner
	defer pin.Unpin()
	answer := new(struct{ queue, user uintptr })
	pin.Pin(answer)
	err := status(call(c.library.getCQEvent, addressOf(ch.object), addressOf(&answer.queue), addressOf(&answer.user), 0, 0))
	if again(err) {
		return false, nil
	}
	if err != nil {
		return false, c.err(op, err)
	}
	// A queue cannot be destroyed before its events are acknowledged.
	_, _ = call(c.library.ackCQEvents, answer.queue, 1, 0, 0, 0)
	return true, nil
}

// Close destroys the channel. The error is EBUSY while a completion queue uses the channel.
func (ch *Channel) Close() error {
	return end(ch.context, "close completion channel", ch.context.library.destroyChannel, &ch.object)
}

// CompletionQueue receives the completions of work requests.
type CompletionQueue struct {
	context *Context
	object  *completionsObject
	poll    function
	// answers is the memory into which the library writes completions. It is pinned.
	answers *[pollBatch]completion
	pin     goruntime.Pinner
}

// NewCompletionQueue makes a queue. The argument entries is the minimum number of completions for
// which the queue has room. channel may be nil.
func (c *Context) NewCompletionQueue(entries int, channel *Channel) (*CompletionQueue, error) {
	const op = "create completion queue"
	if entries < 1 || entries > maxEntries {
		return nil, c.err(op, unix.EINVAL)
	}
	var report uintptr
	if channel != nil {
		if channel.object == nil {
			return nil, c.err(op, uverbs.ErrClosed)
		}
		report = addressOf(channel.object)
	}
	o, err := begin[completionsObject](c, op, c.library.createCQ, addressOf(c.object), uintptr(entries), 0, report, 0)
	if err != nil {
		return nil, uverbs.MemlockCause(0, uint64(entries)*uint64(sizeOf[completion]()), err)
	}
	q := &CompletionQueue{context: c, object: o, poll: c.object.pollCQ, answers: new([pollBatch]completion)}
	q.pin.Pin(q.answers)
	held.Store(q, nil)
	if int(o.entries) < entries {
		_ = q.Close()
		return nil, c.err(op, nonsense("%d entries in place of %d", o.entries, entries))
	}
	return q, nil
}

// Capacity returns the number of entries that the queue can hold. If more completions arrive, the
// device reports an error event.
func (q *CompletionQueue) Capacity() int {
	if q.object == nil {
		return 0
	}
	return int(q.object.entries)
}

// Poll takes completions and returns their number. It makes no system call. When the library fails
// to poll, Poll returns the completions that it has already taken. After such a failure Arm and
// Context.NextEvent return the error.
func (q *CompletionQueue) Poll(out []uverbs.Completion) int {
	done := 0
	for done < len(out) && q.object != nil {
		want := min(len(out)-done, pollBatch)
		n := invoke(q.poll, addressOf(q.object), uintptr(want), addressOf(q.answers))
		if n < 0 || n > want {
			failure := q.context.err("poll", nonsense("%d completions from a poll for at most %d", n, want))
			q.context.failure.CompareAndSwap(nil, &failure)
			return done
		}
		for i := range q.answers[:n] {
			take(&out[done+i], &q.answers[i])
		}
		done += n
		if n < want {
			break
		}
	}
	return done
}

// take translates a completion.
func take(to *uverbs.Completion, from *completion) {
	*to = uverbs.Completion{
		ID: from.id, Length: from.length, QueuePair: from.pair, Status: uverbs.Status(from.status), Op: uverbs.Completed(from.op),
	}
	if from.status != 0 {
		to.Length, to.Op = 0, 0 // not set by the device
		return
	}
	if from.flags&flagImmediate != 0 {
		to.Immediate, to.HasImmediate = bigEndian(from.extra), true
	}
}

// bigEndian converts immediate data from or to big-endian; amd64 and arm64 are little-endian.
func bigEndian(v uint32) uint32 { return bits.ReverseBytes32(v) }

// Arm requests one event in the channel. The event follows at the next completion.
// Completions that arrived before Arm cause no event. So the caller has to Poll once more after
// Arm.
func (q *CompletionQueue) Arm() error {
	const op = "arm completion queue"
	if q.object == nil {
		return q.context.err(op, uverbs.ErrClosed)
	}
	if failure := q.context.failure.Load(); failure != nil {
		return *failure
	}
	if n := invoke(q.context.object.requestNotify, addressOf(q.object), 0, 0); n != 0 {
		return q.context.err(op, syscall.Errno(max(n, -n)))
	}
	return nil
}

// Close destroys the queue. The error is EBUSY while a queue pair uses the queue.
func (q *CompletionQueue) Close() error {
	if err := end(q.context, "destroy completion queue", q.context.library.destroyCQ, &q.object); err != nil {
		return err
	}
	q.pin.Unpin()
	held.Delete(q)
	return nil
}
