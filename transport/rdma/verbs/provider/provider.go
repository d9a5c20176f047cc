package provider

import (
	"sync"
	"time"
)

// Provider is a way to do RDMA on this machine. It is stateless or safe for concurrent use.
type Provider interface {
	// Name is short and lower case.
	Name() string
	// Interfaces lists what Open accepts.
	Interfaces() ([]string, error)
	// Open opens an interface adapter by one of those names. The Device belongs to a, which
	// it may use from its first method call on.
	Open(name string, a Adapter) (Device, error)
}

// Adapter is what a Device sees of the adapter that it belongs to.
type Adapter interface {
	// Locker is the adapter's lock. Only Register and Deregister take it, for as long as
	// they exclude the other methods.
	sync.Locker
	// Happened reports what happens to the device as a whole. It is called from within
	// Progress.
	Happened(Event)
}

// Device is an open interface adapter.
//
// Errors are or wrap a Fault (an error without one counts as ErrInsufficientResources).
// Arguments were checked against Attributes.
type Device interface {
	// Attributes returns the same value each time. It may be called without the lock.
	Attributes() Attributes
	// NewProtectionDomain makes a protection domain.
	NewProtectionDomain() (ProtectionDomain, error)
	// NewSharedReceiveQueue makes a shared receive queue. It is not called where
	// MaxSharedReceives is 0.
	NewSharedReceiveQueue(SharedReceiveConfig) (SharedReceiveQueue, error)
	// NewQueuePair makes a queue pair for one endpoint and one connection, and says what it
	// grants of the attributes: numbers of requests, receives and segments, MaxInline, and
	// the read depths. More than was asked counts as what was asked; less is what the
	// endpoint then has.
	NewQueuePair(QueuePairConfig) (QueuePair, EndpointAttributes, error)
	// Listen opens a service point. Requests are reported from Progress on.
	Listen(ServicePointConfig) (ServicePoint, error)
	// Close frees everything. All that was made of the device was closed before.
	Close() error
	Progress
}

// Progress is the part of a Device that makes progress.
type Progress interface {
	// Progress does a bounded amount of what can be done now (takes completions and events,
	// reads what arrived, writes what waits, serves timers that are due) and makes the
	// upcalls. It returns how much it did, 0 for nothing: a poller counts on it to be cheap
	// then. The error is one of the device as a whole and ends the adapter.
	Progress() (int, error)
	// Idle reports whether nothing can be done until the kernel says so. Where completions
	// announce themselves only when asked to (ibv_req_notify_cq(3)) it asks, then looks
	// once more. Sleep is called only after it has returned true, possibly with calls of
	// other goroutines in between; what those leave to be done must end the Sleep too.
	Idle() bool
	// Sleep sleeps in the kernel until Progress may have something to do, a timer of the
	// device is due, until has come (the zero time is never), or Wake is called: in an
	// epoll of the completion channel, the connection manager's and the asynchronous
	// events' descriptors and an eventfd, say. It may return too early and must not return
	// too late. At most one goroutine is in it. It is called without the lock: all other
	// methods but Close of the device may be called meanwhile.
	Sleep(until time.Time)
	// Wake ends the current Sleep or, when there is none, the next one. It is called under
	// the lock, never after Close.
	Wake()
}

// Event is what happens to a device as a whole.
type Event struct {
	Kind EventKind
	// Err is the cause, or nil.
	Err error
}

// EventKind is the kind of an Event.
type EventKind uint8

// The kinds of Event.
const (
	// EventRemoved says that the device is gone or cannot be used any more
	// (IBV_EVENT_DEVICE_FATAL, RDMA_CM_EVENT_DEVICE_REMOVAL). The adapter ends; the device
	// is still closed, with all that was made of it.
	EventRemoved EventKind = iota + 1
	// EventPortDown and EventPortUp say that the port lost or has its link. Connections are
	// not touched: if they fail of it, each says so.
	EventPortDown
	EventPortUp
	// EventAddressChanged says that addresses of the interface, its GIDs or its routes have
	// changed (RDMA_CM_EVENT_ADDR_CHANGE).
	EventAddressChanged
)
