package ibverbs

import (
	goruntime "runtime"

	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/uverbs"
)

// SharedReceiveQueue holds the receives of several queue pairs.
type SharedReceiveQueue struct {
	// Segments is the maximum number of segments of a receive.
	Segments int

	context  *Context
	object   *sharedObject
	capacity int
	receives *receiveList
}

// NewSharedReceiveQueue makes a queue. The argument entries is the minimum number of receives for
// which the queue has room. The argument segments is the minimum of SharedReceiveQueue.Segments.
func (d *ProtectionDomain) NewSharedReceiveQueue(entries, segments int) (*SharedReceiveQueue, error) {
	const op = "create shared receive queue"
	c := d.context
	if d.object == nil {
		return nil, c.err(op, uverbs.ErrClosed)
	}
	if entries < 1 || entries > maxEntries || segments < 0 || segments > maxEntries {
		return nil, c.err(op, unix.EINVAL)
	}
	var pin goruntime.Pinner
	defer pin.Unpin()
	request := &sharedRequest{limits: sharedLimits{entries: uint32(entries), segments: uint32(segments)}}
	pin.Pin(request)
	o, err := begin[sharedObject](c, op, c.library.createSRQ, addressOf(d.object), addressOf(request), 0, 0, 0)
	if err != nil {
		return nil, uverbs.MemlockCause(0, uint64(entries)*uint64(segments+1)*uint64(sizeOf[segment]()), err)
	}
	s := &SharedReceiveQueue{Segments: int(request.limits.segments), context: c, object: o, capacity: int(request.limits.entries)}
	s.receives = newReceiveList(s.Segments, c.isSIW())
	held.Store(s, nil)
	if s.capacity < entries || s.Segments < segments {
		_ = s.Close()
		return nil, c.err(op, nonsense("%d entries of %d segments in place of %d of %d", s.capacity, s.Segments, entries, segments))
	}
	return s, nil
}

// Capacity returns the number of receives that the queue can hold.
func (s *SharedReceiveQueue) Capacity() int { return s.capacity }

// PostReceives posts receives in order, and returns the number of posted receives. If some were not
// posted, the error is ErrFull, ErrRequest, ErrClosed or the library's.
func (s *SharedReceiveQueue) PostReceives(list []uverbs.ReceiveRequest) (int, error) {
	if s.object == nil {
		return 0, s.context.err("post receives", uverbs.ErrClosed)
	}
	return s.receives.post(s.context, s.context.object.postShared, addressOf(s.object), list)
}

// Close destroys the queue. The error is EBUSY while a queue pair uses the queue.
func (s *SharedReceiveQueue) Close() error {
	if err := end(s.context, "destroy shared receive queue", s.context.library.destroySRQ, &s.object); err != nil {
		return err
	}
	held.Delete(s)
	s.receives.close()
	return nil
}
