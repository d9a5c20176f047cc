package ibverbs

import (
	"errors"
	"io/fs"
	goruntime "runtime"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/uverbs"
)

// Context is an open device.
type Context struct {
	// Device is the device that was opened.
	Device uverbs.Device

	library *library
	object  *contextObject
	// made counts the open objects of the context. Close fails while made is not 0, because closing
	// the context frees memory to which the objects refer.
	made atomic.Int64
	// failure is the error of a completion queue that cannot be polled any more, or nil.
	failure atomic.Pointer[error]
}

// devices calls visit with every device. visit may open the device, because an open device stays
// valid when the library frees the list.
func (l *library) devices(visit func(device uintptr, name string)) error {
	var pin goruntime.Pinner
	defer pin.Unpin()
	n := new(int32)
	pin.Pin(n)
	list, errno := call(l.getDeviceList, addressOf(n), 0, 0, 0, 0)
	if list == 0 {
		if errno == 0 {
			errno = syscall.EIO
		}
		if errno == syscall.ENOSYS {
			return &ModuleError{Err: errno}
		}
		return errno
	}
	defer func() { _, _ = call(l.freeDeviceList, list, 0, 0, 0, 0) }()
	for _, device := range arrayOf[uintptr](list, int(*n)) {
		name, _ := call(l.getDeviceName, device, 0, 0, 0, 0)
		visit(device, textOf(name))
	}
	return nil
}

// Open opens a device of the kernel through the library. The cause in the error is an error of
// Available, a ModuleError, a ProviderError, a uverbs.PermissionError, uverbs.ErrAnswer, or an errno.
func Open(d *uverbs.Device) (*Context, error) {
	l, err := loaded()
	if err != nil {
		return nil, &uverbs.Error{Op: "open", Device: d.Name, Err: err}
	}
	return l.open(d)
}

func (l *library) open(d *uverbs.Device) (*Context, error) {
	c := &Context{Device: *d, library: l}
	cause := error(&ProviderError{})
	var known []string
	err := l.devices(func(device uintptr, name string) {
		known = append(known, name)
		if name == d.Name {
			c.object, cause = object[contextObject](l.openDevice, device, 0, 0, 0, 0)
		}
	})
	var missing *ProviderError
	switch {
	case err != nil:
		return nil, c.err("open", err)
	case errors.As(cause, &missing):
		missing.Known = known
	case errors.Is(cause, fs.ErrPermission):
		cause = &uverbs.PermissionError{File: "/" + d.File, Err: cause}
	case cause != nil:
		// After the kernel has refused to open the device's file, the library tries to open other
		// files. So its errno may belong to another file. Therefore the access to the device's file
		// is checked here.
		if err := unix.Access("/"+d.File, unix.R_OK|unix.W_OK); errors.Is(err, fs.ErrPermission) {
			cause = &uverbs.PermissionError{File: "/" + d.File, Err: err}
		}
	}
	if cause != nil {
		return nil, c.err("open", cause)
	}
	o := c.object
	if o.postSend == 0 || o.postReceive == 0 || o.pollCQ == 0 || o.requestNotify == 0 {
		err = nonsense("a context without functions to post and to poll")
	} else {
		err = unix.SetNonblock(int(o.asyncFD), true)
	}
	if err != nil {
		_, _ = call(l.closeDevice, addressOf(o), 0, 0, 0, 0)
		return nil, c.err("open", err)
	}
	return c, nil
}

// isSIW reports whether libsiw drives the device.
func (c *Context) isSIW() bool { return c.Device.Driver == uverbs.DriverSIW }

// Close closes the context. The error is EBUSY while an object of the context is open.
func (c *Context) Close() error {
	const op = "close"
	if c.object == nil {
		return c.err(op, uverbs.ErrClosed)
	}
	if c.made.Load() != 0 {
		return c.err(op, unix.EBUSY)
	}
	err := status(call(c.library.closeDevice, addressOf(c.object), 0, 0, 0, 0))
	c.object = nil
	return c.err(op, err)
}

// status returns the error of a C function. Such a function returns 0, or an errno of either sign,
// or it returns -1 and sets errno.
func status(v uintptr, errno syscall.Errno) error {
	switch n := int32(v); {
	case n == 0:
		return nil
	case n == -1 && errno != 0:
		return errno
	case n < 0:
		return syscall.Errno(-n)
	default:
		return syscall.Errno(n)
	}
}

// end destroys the object *o by the C function f and sets *o to nil. If *o is nil already, end
// returns ErrClosed.
func end[T any](c *Context, op string, f function, o **T) error {
	if *o == nil {
		return c.err(op, uverbs.ErrClosed)
	}
	if err := status(call(f, addressOf(*o), 0, 0, 0, 0)); err != nil {
		return c.err(op, err)
	}
	*o = nil
	c.made.Add(-1)
	return nil
}

// begin makes an object by the C function f, and counts the object in made.
func begin[T any](c *Context, op string, f function, a, b, d, e, g uintptr) (*T, error) {
	if c.object == nil {
		return nil, c.err(op, uverbs.ErrClosed)
	}
	o, err := object[T](f, a, b, d, e, g)
	if err != nil {
		return nil, c.err(op, err)
	}
	c.made.Add(1)
	return o, nil
}

// Attributes queries the limits of the device.
func (c *Context) Attributes() (uverbs.Attributes, error) {
	const op = "query device"
	if c.object == nil {
		return uverbs.Attributes{}, c.err(op, uverbs.ErrClosed)
	}
	var pin goruntime.Pinner
	defer pin.Unpin()
	a := new(deviceAnswer)
	pin.Pin(a)
	if err := status(call(c.library.queryDevice, addressOf(c.object), addressOf(a), 0, 0, 0)); err != nil {
		return uverbs.Attributes{}, c.err(op, err)
	}
	limit := func(n uint32) int { return int(min(n, 1<<31-1)) }
	got := uverbs.Attributes{
		MaxWork: limit(a.maxQPWork), MaxSegments: limit(a.maxSegments), MaxReadSegments: limit(a.maxReadSegments),
		MaxCompletions: limit(a.maxCQEntries), MaxReadsIn: limit(a.maxReadsIn), MaxReadsOut: limit(a.maxReadsOut),
		MaxSharedQueues: limit(a.maxSRQ), MaxSharedWork: limit(a.maxSRQWork), Atomics: a.atomics != 0,
	}
	if a.maxQP == 0 || got.MaxWork == 0 || got.MaxSegments == 0 || got.MaxCompletions == 0 || a.ports == 0 {
		return got, c.err(op, nonsense("limits of zero: %+v", got))
	}
	return got, nil
}

// Port queries the attributes of a port. The first port has number 1.
func (c *Context) Port(number int) (uverbs.PortAttributes, error) {
	const op = "query port"
	if c.object == nil {
		return uverbs.PortAttributes{}, c.err(op, uverbs.ErrClosed)
	}
	var pin goruntime.Pinner
	defer pin.Unpin()
	a := new(portAnswer)
	pin.Pin(a)
	if err := status(call(c.library.queryPort, addressOf(c.object), uintptr(uint8(number)), addressOf(a), 0, 0)); err != nil {
		return uverbs.PortAttributes{}, c.err(op, err)
	}
	got := uverbs.PortAttributes{MaxMessage: a.maxMessage}
	if got.MaxMessage == 0 {
		return got, c.err(op, nonsense("messages of zero bytes"))
	}
	return got, nil
}

// OnDemand reports whether memory that was registered with uverbs.AccessOnDemand can be used for
// all operations except atomics. It does not say whether such memory can be used for atomics.
func (c *Context) OnDemand() bool { return uverbs.OnDemand(int(c.object.commandFD)) }

// EventFD returns a file descriptor that is readable while an event of the device is available.
// Context.Close closes it.
func (c *Context) EventFD() int { return int(c.object.asyncFD) }

// NextEvent takes an asynchronous event of the device. It returns false if no event is available.
func (c *Context) NextEvent() (uverbs.Event, bool, error) {
	const op = "read events"
	if c.object == nil {
		return uverbs.Event{}, false, c.err(op, uverbs.ErrClosed)
	}
	if failure := c.failure.Load(); failure != nil {
		return uverbs.Event{}, false, *failure
	}
	var pin goruntime.Pinner
	defer pin.Unpin()
	e := new(event)
	pin.Pin(e)
	err := status(call(c.library.getAsyncEvent, addressOf(c.object), addressOf(e), 0, 0, 0))
	if again(err) {
		return uverbs.Event{}, false, nil
	}
	if err != nil {
		return uverbs.Event{}, false, c.err(op, err)
	}
	got := uverbs.Event{Type: uverbs.EventType(e.kind), Element: elementNumber(e)}
	// The object of an event cannot be destroyed before the event is acknowledged.
	_, _ = call(c.library.ackAsyncEvent, addressOf(e), 0, 0, 0, 0)
	return got, true, nil
}

// elementNumber returns the user value of the queue pair of an event, or the number of its port.
func elementNumber(e *event) uint64 {
	switch {
	case e.kind >= uint32(uverbs.EventQueuePairFatal) && e.kind <= eventPathError, e.kind == eventLastReceive:
		return uint64(pairOf(e).user)
	default:
		return e.element & (1<<32 - 1)
	}
}

// again reports whether err means that a read got nothing and may be repeated later.
func again(err error) bool { return errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EINTR) }
