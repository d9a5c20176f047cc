package uverbs

import (
	"errors"
	"math"
	"os"
	goruntime "runtime"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// ProtectionDomain ties memory, queue pairs and shared receive queues together.
type ProtectionDomain struct {
	context *Context
	handle  uint32
}

// NewProtectionDomain makes a domain.
func (c *Context) NewProtectionDomain() (*ProtectionDomain, error) {
	var a handleAnswer
	if err := call(c, "allocate protection domain", cmdAllocPD, &plainRequest{}, &a, nil, nil); err != nil {
		return nil, err
	}
	return &ProtectionDomain{context: c, handle: a.handle}, nil
}

// Close ends the domain. It is EBUSY while something is in it.
func (d *ProtectionDomain) Close() error {
	return tellKernel(d.context, "free protection domain", cmdDeallocPD, &handleRequest{handle: d.handle})
}

// Access is what may be done with a region beside reading it locally (enum
// ibv_access_flags).
type Access uint32

// The rights.
const (
	AccessLocalWrite   Access = 1
	AccessRemoteWrite  Access = 2
	AccessRemoteRead   Access = 4
	AccessRemoteAtomic Access = 8
	// AccessRelaxedOrdering lets a device write to the memory in any order; it is left out
	// for kernels that do not know it.
	AccessRelaxedOrdering Access = 1 << 20
)

// held are the objects that have memory of Go's heap pinned for the device. They stay
// reachable until they are closed, also when closing fails and the user forgets them.
var held sync.Map

// Region is registered memory.
type Region struct {
	context *Context
	handle  uint32
	// pin keeps memory of Go's heap alive and in its place as long as the device may use it.
	pin goruntime.Pinner
	// LKey is for local segments, RKey for peers. Peers name the first byte by Address.
	LKey, RKey uint32
	Address    uint64
}

// Register makes memory usable. The kernel pins it, which takes a while. The error may be a
// MemlockError.
func (d *ProtectionDomain) Register(b []byte, access Access) (*Region, error) {
	const op = "register memory"
	c := d.context
	if len(b) == 0 {
		return nil, c.err(op, unix.EINVAL)
	}
	r := &Region{context: c, Address: addressOf(b)}
	r.pin.Pin(&b[0])
	q := regionRequest{start: r.Address, length: uint64(len(b)), iova: r.Address, domain: d.handle, access: uint32(access)}
	// The driver is told a byte, of which the next registration gets another.
	tell := c.driver.region(uint8(c.registrations.Add(1)))
	var a regionAnswer
	err := call(c, op, cmdRegMR, &q, &a, tell, make([]byte, c.driver.rooms().region))
	if errors.Is(err, unix.EINVAL) && access&AccessRelaxedOrdering != 0 {
		q.access &^= uint32(AccessRelaxedOrdering)
		err = call(c, op, cmdRegMR, &q, &a, tell, make([]byte, c.driver.rooms().region))
	}
	if err != nil {
		r.pin.Unpin()
		if errors.Is(err, unix.ENOMEM) {
			err = c.err(op, MemlockCause(r.Address, uint64(len(b)), unix.ENOMEM))
		}
		return nil, err
	}
	r.handle, r.LKey, r.RKey = a.handle, a.lkey, a.rkey
	held.Store(r, nil)
	return r, nil
}

// Close deregisters the memory. When it returns, no device touches it.
func (r *Region) Close() error {
	if err := tellKernel(r.context, "deregister memory", cmdDeregMR, &handleRequest{handle: r.handle}); err != nil {
		return err
	}
	r.pin.Unpin()
	held.Delete(r)
	return nil
}

// MemlockCause is a MemlockError if the limit is the likely cause of an error of registering
// length bytes, and that error otherwise.
func MemlockCause(address, length uint64, err error) error {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_MEMLOCK, &limit) != nil {
		return err
	}
	// Without the file nothing is known to be locked.
	status, _ := os.ReadFile("/proc/self/status")
	return memlockCause(address, length, limit.Cur, lockedMemory(string(status)), uint64(os.Getpagesize()), err)
}

func memlockCause(address, length, limit, used, page uint64, err error) error {
	need := (address%page + length + page - 1) / page * page
	if limit == math.MaxUint64 || used+need <= limit {
		return err
	}
	return &MemlockError{Limit: limit, Used: used, Need: need, Err: err}
}

// lockedMemory finds how many bytes of the process are locked or pinned (proc(5)). Drivers
// count in one or the other.
func lockedMemory(status string) uint64 {
	var most uint64
	for _, line := range strings.Split(status, "\n") {
		name, rest, _ := strings.Cut(line, ":")
		if name != "VmLck" && name != "VmPin" {
			continue
		}
		kib, err := strconv.ParseUint(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
		if err == nil {
			most = max(most, kib<<10)
		}
	}
	return most
}
