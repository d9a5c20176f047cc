package verbs

import (
	"net/netip"
	"time"
)

// Provider is a way to do RDMA on this machine: iWARP over TCP, librdmacm, memory
// of the process. A provider is stateless or safe for concurrent use.
type Provider interface {
	// Name is short and lower case.
	Name() string
	// Interfaces lists what Open accepts.
	Interfaces() ([]string, error)
	// Open opens an interface adapter by one of those names. The Device belongs to the
	// one Adapter that called it.
	Open(name string) (Device, error)
}

// Device is an open interface adapter as a provider implements it.
//
// Its methods, and those of what it makes, are called under the adapter's lock,
// hence never concurrently; Sleep alone is not. They do not block. Errors are or
// wrap a Fault (an error without one counts as ErrInsufficientResources). Arguments
// were checked against Attributes.
type Device interface {
	// Attributes returns the same value each time.
	Attributes() Attributes
	// Register makes memory usable under the keys it returns.
	Register(Registration) (Registered, error)
	// Deregister ends that. When it returns, no peer touches the memory any more. It
	// comes also for memory whose remote access a peer's Send has invalidated, which
	// leaves the local use as it was.
	Deregister(lkey uint32) error
	// NewQueuePair makes a queue pair for one endpoint and one connection.
	NewQueuePair(QueuePairConfig) (QueuePair, error)
	// Listen opens a service point. Requests are reported from Progress on.
	Listen(ServicePointConfig) (ServicePoint, error)
	// Close frees everything. Queue pairs and service points were closed before.
	Close() error
	Progress
}

// Progress is the part of a Device that makes progress. Progress and Idle are called under
// the adapter's lock.
type Progress interface {
	// Progress does a bounded amount of what can be done now (reads what arrived,
	// writes what waits, serves timers that are due) and makes the upcalls. It returns
	// how much it did, 0 for nothing: a poller counts on it to be cheap then. The error
	// is one of the device as a whole and ends the adapter.
	Progress() (int, error)
	// Idle reports whether nothing can be done until the kernel says so. Sleep is
	// called only after it has returned true, possibly with calls of other goroutines
	// in between; what those leave to be done must end the Sleep too.
	Idle() bool
	// Sleep sleeps in the kernel until Progress may have something to do, a timer of
	// the device is due, until has come (the zero time is never), or Wake is called.
	// It may return too early and must not return too late. At most one goroutine is
	// in it. Progress, posts and Close of queue pairs may go on meanwhile.
	Sleep(until time.Time)
	// Wake ends the current Sleep or, when there is none, the next one. It is called
	// under the adapter's lock, while Sleep is not; never after Close.
	Wake()
}

// Registration is memory to register.
type Registration struct {
	// Domain is the protection domain; requests and peers reach the memory through
	// queue pairs of the same domain alone (pointers are compared).
	Domain *ProtectionDomain
	Data   []byte
	Access Access
}

// Registered is what a Device makes of a Registration.
type Registered struct {
	// LKey is unique in the device as long as the memory is registered.
	LKey uint32
	// RKey is what peers use; on iWARP it equals LKey (the STag).
	RKey uint32
	// Address is how peers name the first byte.
	Address uint64
}

// QueuePairConfig says what a queue pair belongs to. The pointers stay valid until
// QueuePair.Close.
type QueuePairConfig struct {
	Domain     *ProtectionDomain
	Attributes EndpointAttributes
	// Sends and Receives hold the posted work.
	Sends    *SendQueue
	Receives *ReceiveQueue
	// Upcalls take what happens to the connection.
	Upcalls *Upcalls
}

// QueuePair is one end of one connection. It is used once: the endpoint makes a new
// one after Reset.
//
// Work is not handed to it: it takes it from its SendQueue and ReceiveQueue when it
// can use it, and reports it done there.
type QueuePair interface {
	// Connect begins the active side and returns the local end at once, as far as it is
	// known. The outcome is one of Upcalls.Established and Upcalls.Failed, from within or
	// later. An error (ErrInvalidAddress, ErrInsufficientResources) means that nothing has
	// begun and no upcall comes. p and its PrivateData are valid during the call. The
	// consumer's timeout is kept by package verbs, which calls Abort.
	Connect(remote netip.AddrPort, p *Proposal) (local netip.AddrPort, err error)
	// Contacted reports whether the remote host has taken the request of Connect, as
	// far as the transport can tell (iWARP: the TCP connection stands). It separates
	// EventTimedOut from EventUnreachable when the consumer's timeout has passed.
	Contacted() bool
	// RequestsPosted says that SendQueue.Next may return something new. It comes after
	// every post, which needs Upcalls.Established; the queue pair starts what it can at
	// once. A queue pair that has to hold back (iWARP's passive side until the active
	// side has spoken, a full socket) calls Next later of its own accord, and also
	// after each Read it has done, which may let a fenced request or another Read go.
	RequestsPosted()
	// ReceivesPosted says the same of ReceiveQueue.Next. It may come before Connect. It
	// does not come for a shared receive queue.
	ReceivesPosted()
	// Disconnect ends the connection in order. The SendQueue is empty. The outcome is
	// Upcalls.Disconnected or Upcalls.Broken. Messages that arrive before the peer's
	// end are still delivered.
	Disconnect()
	// Abort ends whatever is going on at once. The peer sees a broken connection, or a
	// refused one. No upcall follows, and no request or receive is touched after it
	// returns.
	Abort()
	// Close frees the queue pair. It implies Abort. What the protocol still owes the
	// peer (a Terminate on its way) may outlive it in the device.
	Close()
}

// Proposal is what one side of a connection proposes or answers to the other. Its
// values are in the terms of the side that sent it.
type Proposal struct {
	// PrivateData is the consumer's. Data of providers are sent separately.
	PrivateData []byte
	// ResponderResources (IRD) and InitiatorDepth (ORD) of the sender; DepthDefault in
	// one that was received where the transport does not carry them (MPA revision 1).
	ResponderResources, InitiatorDepth int
	FlowControl                        bool
	RetryCount, RNRRetryCount          uint8
	// QoS, Multipath and SameProvider are those of Connect.
	QoS                     QoS
	Multipath, SameProvider bool
}

// ServicePointConfig says where to listen and for whom.
type ServicePointConfig struct {
	// Address may have port 0 for any free one, and no address for the adapter's own.
	Address netip.AddrPort
	// Backlog is how many requests RequestSink.Arrived takes before they are answered.
	Backlog int
	// Requests takes what arrives.
	Requests *RequestSink
}

// ServicePoint is a place where requests arrive.
type ServicePoint interface {
	// Address is where it listens.
	Address() netip.AddrPort
	// Close refuses new requests. Handshakes that were reported stay valid.
	Close()
}

// Handshake is the passive side of a connection before it is answered. Exactly one
// of its methods is called, once. It stays valid when the active side has gone: an
// Accept of such a one ends in Upcalls.Failed.
type Handshake interface {
	// Accept continues on a queue pair of the same device, which has not been used. The
	// outcome is Upcalls.Established(nil, ...) or Upcalls.Failed, from within or later.
	// answer and its PrivateData are valid during the call.
	Accept(qp QueuePair, answer *Proposal)
	// Reject answers that the consumer rejects, with its private data, which is valid
	// during the call (EventPeerRejected at the other end).
	Reject(privateData []byte)
	// Refuse ends it without a consumer's answer (EventNonPeerRejected there).
	Refuse()
}
