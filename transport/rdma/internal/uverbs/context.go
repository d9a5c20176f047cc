package uverbs

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// Context is an open device.
type Context struct {
	// Device describes the device.
	Device Device

	kernel kernel
	driver driver
	events int // the file descriptor of asynchronous events
	// registrations counts the registrations of memory. The low byte of the count becomes the part
	// of a key that the user chooses.
	registrations atomic.Uint32
}

// Open opens a device. Its error wraps a PermissionError, ErrUnknownDriver, or an error of the
// kernel.
func Open(d *Device) (*Context, error) {
	const op = "open"
	if !Drives(d) {
		return nil, &Error{Op: op, Device: d.Name, Err: fmt.Errorf("%w (%v, version %d)", ErrUnknownDriver, d.Driver, d.ABI)}
	}
	fd, err := unix.Open("/"+d.File, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if errors.Is(err, fs.ErrPermission) {
		err = &PermissionError{File: "/" + d.File, Err: err}
	}
	if err != nil {
		return nil, &Error{Op: op, Device: d.Name, Err: err}
	}
	return open(d, file{fd}, driverOf(d.Driver))
}

// open makes the context of the device file k. If open fails, it closes the file.
func open(d *Device, k kernel, known driver) (*Context, error) {
	c := &Context{Device: *d, kernel: k, driver: known, events: -1}
	var answer contextAnswer
	if err := call(c, "open", cmdGetContext, &plainRequest{}, &answer, nil, make([]byte, known.rooms().context)); err != nil {
		_ = k.close()
		return nil, err
	}
	c.events = int(int32(answer.asyncFD))
	if err := prepare(c.events); err != nil {
		_ = k.close()
		return nil, c.err("open", err)
	}
	return c, nil
}

// prepare sets a descriptor that the kernel has created to close-on-exec and nonblocking. If this
// fails, prepare closes the descriptor.
func prepare(fd int) error {
	unix.CloseOnExec(fd)
	err := unix.SetNonblock(fd, true)
	if err != nil {
		_ = unix.Close(fd)
	}
	return err
}

// Close closes the context. The caller should close the objects of the context before. The kernel
// destroys the objects that are still open.
func (c *Context) Close() error {
	k := c.kernel
	if k == (closedKernel{}) {
		return c.err("close", ErrClosed)
	}
	c.kernel = closedKernel{}
	err := unix.Close(c.events)
	if e := k.close(); err == nil {
		err = e
	}
	return c.err("close", err)
}

// closedKernel replaces the kernel of a closed context. Its commands fail with ErrClosed, but its
// method to unmap queues still works.
type closedKernel struct{}

func (closedKernel) command(_, _ []byte) error           { return ErrClosed }
func (closedKernel) ring([]byte) error                   { return ErrClosed }
func (closedKernel) mapQueue(int64, int) ([]byte, error) { return nil, ErrClosed }
func (closedKernel) unmap(b []byte) error                { return unix.Munmap(b) }
func (closedKernel) close() error                        { return ErrClosed }

// Attributes are the limits of a device.
type Attributes struct {
	MaxWork, MaxSegments, MaxReadSegments int
	MaxCompletions                        int
	MaxReadsIn, MaxReadsOut               int
	MaxSharedQueues, MaxSharedWork        int
	Atomics                               bool
}

// Attributes queries the limits of the device.
func (c *Context) Attributes() (Attributes, error) {
	var a deviceAnswer
	if err := call(c, "query device", cmdQueryDevice, &plainRequest{}, &a, nil, nil); err != nil {
		return Attributes{}, err
	}
	limit := func(n uint32) int { return int(min(n, 1<<31-1)) }
	got := Attributes{
		MaxWork: limit(a.maxQPWork), MaxSegments: limit(a.maxSegments), MaxReadSegments: limit(a.maxReadSegments),
		MaxCompletions: limit(a.maxCQEntries), MaxReadsIn: limit(a.maxReadsIn), MaxReadsOut: limit(a.maxReadsOut),
		MaxSharedQueues: limit(a.maxSRQ), MaxSharedWork: limit(a.maxSRQWork), Atomics: a.atomics != 0,
	}
	if a.maxQP == 0 || got.MaxWork == 0 || got.MaxSegments == 0 || got.MaxCompletions == 0 || a.ports == 0 {
		return got, c.err("query device", nonsense("limits of zero: %+v", got))
	}
	return got, nil
}

// PortAttributes are the attributes of a port.
type PortAttributes struct {
	// MaxMessage is the length of the longest message in bytes.
	MaxMessage uint32
}

// Port queries the attributes of a port. Ports are numbered from 1.
func (c *Context) Port(number int) (PortAttributes, error) {
	var a portAnswer
	if err := call(c, "query port", cmdQueryPort, &portRequest{port: uint8(number)}, &a, nil, nil); err != nil {
		return PortAttributes{}, err
	}
	got := PortAttributes{MaxMessage: a.maxMessage}
	if got.MaxMessage == 0 {
		return got, c.err("query port", nonsense("messages of zero bytes"))
	}
	return got, nil
}

// EventType is the kind of an asynchronous event (enum ibv_event_type).
type EventType uint32

// The events.
const (
	EventCompletionQueueError EventType = 0
	EventQueuePairFatal       EventType = 1
	EventQueuePairRequest     EventType = 2
	EventQueuePairAccess      EventType = 3
	EventDeviceFatal          EventType = 8
	EventPortActive           EventType = 9
	EventPortError            EventType = 10
	EventSharedQueueError     EventType = 14
	// EventLastReceive: a failed queue pair will consume no more shared receives, and all receives
	// that it has consumed are complete.
	EventLastReceive EventType = 16
)

// Event is an asynchronous event of a device, a port, a queue or a queue pair.
type Event struct {
	Type EventType
	// Element is the user value of the queue pair, or the number of the port. It has no meaning in other
	// events.
	Element uint64
}

// eventSize is sizeof(struct ib_uverbs_async_event_desc).
const eventSize = 16

// EventFD returns a file descriptor that is readable while there is an event. The context owns the
// descriptor.
func (c *Context) EventFD() int { return c.events }

// NextEvent returns the next event, or false if there is none. If the device was removed, it
// returns EventDeviceFatal once, and EIO in every later call.
func (c *Context) NextEvent() (Event, bool, error) {
	var b [eventSize]byte
	n, err := readEvent(c.events, b[:])
	if n == 0 || err != nil {
		return Event{}, false, c.err("read events", err)
	}
	return Event{Type: EventType(binary.NativeEndian.Uint32(b[8:])), Element: binary.NativeEndian.Uint64(b[:])}, true, nil
}

// readEvent reads one event of len(b) bytes, and returns the number of bytes. It returns 0 if
// there is no event.
func readEvent(fd int, b []byte) (int, error) {
	for {
		n, err := unix.Read(fd, b)
		switch {
		case err == unix.EINTR:
			continue
		case err == unix.EAGAIN:
			return 0, nil
		case err != nil:
			return 0, err
		case n != len(b):
			return 0, nonsense("an event of %d bytes in place of %d", n, len(b))
		}
		return n, nil
	}
}
