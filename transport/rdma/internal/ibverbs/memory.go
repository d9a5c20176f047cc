package ibverbs

import (
	goruntime "runtime"

	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/uverbs"
)

// ProtectionDomain groups memory regions, queue pairs and shared receive queues that may be used
// together.
type ProtectionDomain struct {
	context *Context
	object  *domainObject
}

// NewProtectionDomain makes a protection domain.
func (c *Context) NewProtectionDomain() (*ProtectionDomain, error) {
	o, err := begin[domainObject](c, "allocate protection domain", c.library.allocPD, addressOf(c.object), 0, 0, 0, 0)
	if err != nil {
		return nil, err
	}
	return &ProtectionDomain{context: c, object: o}, nil
}

// Close deallocates the domain. The error is EBUSY while an object belongs to the domain.
func (d *ProtectionDomain) Close() error {
	return end(d.context, "free protection domain", d.context.library.deallocPD, &d.object)
}

// Region is registered memory.
type Region struct {
	// LKey is the key that local segments contain. RKey is the key that peers use. Address is the
	// address by which peers refer to the first byte.
	LKey, RKey uint32
	Address    uint64

	context *Context
	object  *regionObject
	// pin keeps memory of Go's heap alive and at its address while the device may use it.
	pin goruntime.Pinner
}

// Register registers memory. Unless access contains uverbs.AccessOnDemand, the kernel pins the pages
// of the memory, which takes time. The cause of an error may be a uverbs.MemlockError.
func (d *ProtectionDomain) Register(b []byte, access uverbs.Access) (*Region, error) {
	const op = "register memory"
	c := d.context
	if d.object == nil {
		return nil, c.err(op, uverbs.ErrClosed)
	}
	if len(b) == 0 {
		return nil, c.err(op, unix.EINVAL)
	}
	r := &Region{context: c}
	r.pin.Pin(&b[0])
	at := addressOfBytes(b)
	o, err := begin[regionObject](c, op, c.library.regMR, addressOf(d.object), at, uintptr(len(b)), at, uintptr(access))
	if err != nil {
		r.pin.Unpin()
		return nil, uverbs.MemlockCause(uint64(at), uint64(len(b)), err)
	}
	r.object, r.LKey, r.RKey, r.Address = o, o.lkey, o.rkey, uint64(at)
	held.Store(r, nil)
	return r, nil
}

// Close deregisters the memory. When it has returned nil, no device accesses the memory any more.
func (r *Region) Close() error {
	if err := end(r.context, "deregister memory", r.context.library.deregMR, &r.object); err != nil {
		return err
	}
	r.pin.Unpin()
	held.Delete(r)
	return nil
}
