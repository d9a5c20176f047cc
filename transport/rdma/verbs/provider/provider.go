package provider

import (
	"sync"
	"time"
)

// Provider is an implementation of RDMA on this host. It is safe for concurrent use.
type Provider interface {
	// Name returns the name of the provider. The name is short and in lower case.
	Name() string
	// Interfaces lists names that Open accepts. Open may also accept other names, for example
	// addresses.
	Interfaces() ([]string, error)
	// Open opens the interface adapter that name denotes. The Device belongs to the adapter a. The
	// Device must not use a before a method of the Device is called.
	Open(name string, a Adapter) (Device, error)
}

// Adapter is the interface by which a Device uses the verbs.Adapter to which it belongs.
type Adapter interface {
	// Locker is the adapter's lock. Only Register and Deregister may take the lock, because they are
	// called without it. They hold the lock only while they use data that other methods also use.
	sync.Locker
	// Happened reports an event of the device as a whole. It is called with the lock held, from within
	// a method of the Device or of one of its objects.
	Happened(Event)
}

// Device is an open interface adapter.
//
// An error that one of its methods returns should be a Fault or wrap a Fault. An error without a Fault
// counts as ErrInsufficientResources. Package verbs checks the arguments against Attributes before
// it calls a method.
type Device interface {
	// Attributes returns the same value each time. It may be called without the lock.
	Attributes() Attributes
	// NewProtectionDomain makes a protection domain.
	NewProtectionDomain() (ProtectionDomain, error)
	// NewSharedReceiveQueue makes a shared receive queue. It is not called if
	// Attributes.MaxSharedReceives is 0.
	NewSharedReceiveQueue(SharedReceiveConfig) (SharedReceiveQueue, error)
	// NewQueuePair makes a queue pair for one endpoint and one connection, and returns the attributes
	// that it grants: the numbers of requests, receives and segments, MaxInline, and the read depths.
	// For each attribute, the endpoint gets the smaller of the requested value and the granted value. A
	// requested read depth of DepthDefault counts as the granted depth.
	NewQueuePair(QueuePairConfig) (QueuePair, EndpointAttributes, error)
	// Listen opens a service point. Later calls of Progress report its requests.
	Listen(ServicePointConfig) (ServicePoint, error)
	// Close frees the device. Package verbs calls Close after it has closed all objects of the device.
	Close() error
	Progress
}

// Progress is the part of a Device that makes progress.
type Progress interface {
	// Progress does a bounded amount of the work that can be done now, and makes the upcalls. It polls
	// completions and events, reads arrived bytes, writes waiting bytes, and serves timers that are
	// due. It returns the number of its steps. It must be cheap if there is no work, because pollers
	// call it often. An error concerns the device as a whole and ends the adapter.
	Progress() (int, error)
	// Idle reports whether there is no work until the kernel reports an event or a completion. If
	// the kernel reports completions only of armed queues (ibv_req_notify_cq(3)), Idle arms the
	// queues and then polls once more. Sleep is called only after Idle has returned true. Other
	// goroutines may call methods of the device between Idle and Sleep. If such a call leaves work
	// for Progress, this work must end the Sleep.
	Idle() bool
	// Sleep sleeps in the kernel until one of four conditions holds: Progress may have work, a
	// timer of the device is due, the argument until is reached, or Wake is called. The zero time
	// as until means no limit. For example, Sleep may wait in epoll for the descriptors of the
	// completion channel, of the connection manager and of the asynchronous events, and for an
	// eventfd. Sleep may return too early, but must not return too late. At most one goroutine is
	// in Sleep. Sleep is called without the lock. During a Sleep, all other methods of the device
	// except Close may be called.
	Sleep(until time.Time)
	// Wake ends the current Sleep. If no Sleep runs, Wake ends the next Sleep. Wake is called with
	// the lock held, and never after Close.
	Wake()
}

// Event is an event of a device as a whole.
type Event struct {
	Kind EventKind
	// Err is the cause of the event, or nil.
	Err error
}

// EventKind is the kind of an Event.
type EventKind uint8

// The kinds of Event.
const (
	// EventRemoved reports that the device is gone or cannot be used any more
	// (IBV_EVENT_DEVICE_FATAL, RDMA_CM_EVENT_DEVICE_REMOVAL). The adapter ends. Package verbs then
	// still closes the device and its objects.
	EventRemoved EventKind = iota + 1
	// EventPortDown reports that the port has lost its link, and EventPortUp that the port has a
	// link again. These events do not end connections. If a connection fails because of the lost
	// link, the connection itself reports the failure.
	EventPortDown
	EventPortUp
	// EventAddressChanged reports that the addresses, GIDs or routes of the interface have
	// changed (RDMA_CM_EVENT_ADDR_CHANGE).
	EventAddressChanged
)
