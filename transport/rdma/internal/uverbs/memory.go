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

// ProtectionDomain is a set of memory regions, queue pairs and shared receive queues. A queue pair
// can use only memory of its own domain.
type ProtectionDomain struct {
	context *Context
	handle  uint32
}

// NewProtectionDomain allocates a protection domain.
func (c *Context) NewProtectionDomain() (*ProtectionDomain, error) {
	var a handleAnswer
	if err := call(c, "allocate protection domain", cmdAllocPD, &plainRequest{}, &a, nil, nil); err != nil {
		return nil, err
	}
	return &ProtectionDomain{context: c, handle: a.handle}, nil
}

// Close deallocates the domain. It fails with EBUSY while the domain contains an object.
func (d *ProtectionDomain) Close() error {
	return tellKernel(d.context, "free protection domain", cmdDeallocPD, &handleRequest{handle: d.handle})
}

// Access contains the rights to a region (enum ibv_access_flags). The device may always read the
// region for local requests.
type Access uint32

// The rights.
const (
	AccessLocalWrite   Access = 1
	AccessRemoteWrite  Access = 2
	AccessRemoteRead   Access = 4
	AccessRemoteAtomic Access = 8
	// AccessRelaxedOrdering allows the device to write to the memory in any order. If the kernel
	// does not support this right, Register omits it.
	AccessRelaxedOrdering Access = 1 << 20
)

// held contains the objects that have pinned memory of Go's heap for the device. held keeps these
// objects reachable until their Close succeeds. If Close fails, the object stays in held, even if
// the user drops the object.
var held sync.Map

// Region is registered memory.
type Region struct {
	context *Context
	handle  uint32
	// pin keeps memory of Go's heap allocated and at its address as long as the device may use it.
	pin goruntime.Pinner
	// LKey is the key that local segments contain, and RKey is the key that peers use. Address is
	// the address by which peers refer to the first byte.
	LKey, RKey uint32
	Address    uint64
}

// Register registers memory with the device. Unless access contains AccessOnDemand, the kernel pins
// the pages of b, which takes time. The error may be a *MemlockError.
func (d *ProtectionDomain) Register(b []byte, access Access) (*Region, error) {
	const op = "register memory"
	c := d.context
	if len(b) == 0 {
		return nil, c.err(op, unix.EINVAL)
	}
	r := &Region{context: c, Address: addressOf(b)}
	r.pin.Pin(&b[0])
	q := regionRequest{start: r.Address, length: uint64(len(b)), iova: r.Address, domain: d.handle, access: uint32(access)}
	// The driver gets a byte that differs from the bytes of the 255 registrations before and after
	// this one.
	tell := c.driver.region(uint8(c.registrations.Add(1)))
	var a regionAnswer
	err := call(c, op, cmdRegMR, &q, &a, tell, make([]byte, c.driver.rooms().region))
	if errors.Is(err, unix.EINVAL) && access&AccessRelaxedOrdering != 0 {
		q.access &^= uint32(AccessRelaxedOrdering)
		err = call(c, op, cmdRegMR, &q, &a, tell, make([]byte, c.driver.rooms().region))
	}
	if err != nil {
		r.pin.Unpin()
		return nil, MemlockCause(r.Address, uint64(len(b)), err)
	}
	r.handle, r.LKey, r.RKey = a.handle, a.lkey, a.rkey
	held.Store(r, nil)
	return r, nil
}

// Close deregisters the memory. When it has succeeded, the device does not access the memory any
// more.
func (r *Region) Close() error {
	if err := tellKernel(r.context, "deregister memory", cmdDeregMR, &handleRequest{handle: r.handle}); err != nil {
		return err
	}
	r.pin.Unpin()
	held.Delete(r)
	return nil
}

// MemlockCause examines err, the error of an operation that pins memory. The arguments address and
// length are the address of the memory and its length in bytes. MemlockCause returns a MemlockError
// that wraps err if the limit of locked memory is the likely cause. Otherwise it returns err.
func MemlockCause(address, length uint64, err error) error {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_MEMLOCK, &limit) != nil {
		return err
	}
	// If the file cannot be read, lockedMemory returns 0.
	status, _ := os.ReadFile("/proc/self/status")
	return memlockCause(address, length, limit.Cur, lockedMemory(string(status)), uint64(os.Getpagesize()), err)
}

func memlockCause(address, length, limit, used, page uint64, err error) error {
	need := (address%page + length + page - 1) / page * page
	// With a limit of 0 the kernel returns EPERM (can_do_mlock).
	exceeds := errors.Is(err, unix.ENOMEM) || limit == 0 && errors.Is(err, unix.EPERM)
	if !exceeds || limit == math.MaxUint64 || used+need <= limit {
		return err
	}
	return &MemlockError{Limit: limit, Used: used, Need: need, Err: err}
}

// lockedMemory returns the number of bytes of the process that are locked or pinned. The argument
// status is the text of /proc/self/status (proc(5)). The file counts locked and pinned memory
// separately, and a driver adds its memory to only one of the two numbers. lockedMemory cannot know to
// which, so it returns the larger number.
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
