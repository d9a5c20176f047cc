package ibverbs

import (
	goruntime "runtime"

	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/uverbs"
)

// SharedReceiveQueue holds the receives of several queue pairs.
type SharedReceiveQueue struct {
	context  *Context
	object   *sharedObject
	receives *receiveList
}

// NewSharedReceiveQueue makes a queue. The argument entries is the minimum number of receives for
// which the queue has room, and segments the minimum number of segments that a receive may have.
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
	got := &request.limits
	s := &SharedReceiveQueue{context: c, object: o, receives: newReceiveList(int(got.segments), c.isSIW())}
	held.Store(s, nil)
	if int(got.entries) < entries || int(got.segments) < segments {
		_ = s.Close()
		return nil, c.err(op, nonsense("%d entries of %d segments in place of %d of %d", got.entries, got.segments, entries, segments))
	}
	return s, nil
}

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
