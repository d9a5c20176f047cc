package provider

import (
	"sync"
	"time"
)

// Provider is a way to do RDMA on this machine. It is stateless or safe for concurrent use.
type Provider interface {
	// Name is short and lower case.
	Name() string
	// Interfaces lists the names that Open accepts.
	Interfaces() ([]string, error)
	// Open opens the interface adapter with a name from Interfaces. The Device belongs to a,
	// and may use a from its own first method call on.
	Open(name string, a Adapter) (Device, error)
}

// Adapter is the interface to a verbs.Adapter that its Device uses.
type Adapter interface {
	// Locker is the adapter's lock. Only Register and Deregister, which are called without
	// the lock, take it, while they must exclude the other methods.
	sync.Locker
	// Happened reports an event of the device as a whole. It is called from within Progress.
	Happened(Event)
}

// Device is an open interface adapter.
//
// The errors of its methods are or wrap a Fault (an error without a Fault counts as
// ErrInsufficientResources). Package verbs has checked the arguments against Attributes.
type Device interface {
	// Attributes returns the same value each time. It may be called without the lock.
	Attributes() Attributes
	// NewProtectionDomain makes a protection domain.
	NewProtectionDomain() (ProtectionDomain, error)
	// NewSharedReceiveQueue makes a shared receive queue. It is not called if
	// Attributes.MaxSharedReceives is 0.
	NewSharedReceiveQueue(SharedReceiveConfig) (SharedReceiveQueue, error)
	// NewQueuePair makes a queue pair for one endpoint and one connection, and returns the
	// attributes that it grants: the numbers of requests, receives and segments, MaxInline, and
	// the read depths. If more is granted than was requested, the endpoint gets what was
	// requested; if less is granted, it gets what is granted.
	NewQueuePair(QueuePairConfig) (QueuePair, EndpointAttributes, error)
	// Listen opens a service point. Later calls of Progress report its requests.
	Listen(ServicePointConfig) (ServicePoint, error)
	// Close frees the device. All objects that the device made have been closed before.
	Close() error
	Progress
}

// Progress is the part of a Device that makes progress.
type Progress interface {
	// Progress does a bounded amount of the work that can be done now (polls completions and
	// events, reads arrived bytes, writes waiting bytes, serves timers that are due) and makes
	// the upcalls. It returns the number of steps it made. It must be cheap if there is nothing
	// to do, because pollers rely on that. An error concerns the device as a whole and ends the
	// adapter.
	Progress() (int, error)
	// Idle reports whether nothing can be done until the kernel reports something. If
	// completions have to be armed to be reported (ibv_req_notify_cq(3)), Idle arms them and
	// then polls once more. Sleep is called only after Idle has returned true. Other goroutines
	// may call the device in between; work that these calls leave must end the Sleep, too.
	Idle() bool
	// Sleep sleeps in the kernel until Progress may have something to do, a timer of the
	// device is due, the time until is reached (the zero time means never), or Wake is called.
	// It may, for example, sleep in an epoll of the descriptors of the completion channel, of
	// the connection manager and of the asynchronous events, and of an eventfd. It may return
	// too early and must not return too late. At most one goroutine is in Sleep. It is called
	// without the lock: all other methods of the device but Close may be called meanwhile.
	Sleep(until time.Time)
	// Wake ends the current Sleep or, if there is none, the next one. It is called with the
	// lock held, and never after Close.
	Wake()
}

// Event is an event of a device as a whole.
type Event struct {
	Kind EventKind
	// Err is the cause, or nil.
	Err error
}

// EventKind is the kind of an Event.
type EventKind uint8

// The kinds of Event.
const (
	// EventRemoved reports that the device is gone or cannot be used any more
	// (IBV_EVENT_DEVICE_FATAL, RDMA_CM_EVENT_DEVICE_REMOVAL). The adapter ends. The device and
	// the objects that it made are still closed afterwards.
	EventRemoved EventKind = iota + 1
	// EventPortDown and EventPortUp report that the port lost its link or has it again. They
	// do not end connections: a connection that fails for this reason reports it itself.
	EventPortDown
	EventPortUp
	// EventAddressChanged reports that the addresses, GIDs or routes of the interface have
	// changed (RDMA_CM_EVENT_ADDR_CHANGE).
	EventAddressChanged
)
