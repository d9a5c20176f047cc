package verbs

import "github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"

// Stream is the kind of an entry of a completion queue.
type Stream uint8

const (
	// StreamReceive completes receives.
	StreamReceive Stream = iota + 1
	// StreamRequest completes Send, Write, Read, atomics and Bind.
	StreamRequest
	// StreamConnection carries connection events of endpoints.
	StreamConnection
	// StreamConnectionRequest carries the requests that reach a Listener.
	StreamConnectionRequest
	// StreamLimit says that a shared receive queue fell below its limit.
	StreamLimit
	// StreamAdapter carries what happens to the adapter as a whole, see Adapter.Watch.
	StreamAdapter
)

// Status is the result of a work request.
type Status = provider.Status

// The statuses. Every one but StatusSuccess ends the connection.
const (
	StatusSuccess = provider.StatusSuccess
	// StatusFlushed belongs to requests that were posted but not done when the
	// connection ended, and to those posted afterwards.
	StatusFlushed = provider.StatusFlushed
	// StatusLocalLength says that a message was longer than its receive.
	StatusLocalLength = provider.StatusLocalLength
	// StatusLocalProtection says that local memory could not be used.
	StatusLocalProtection = provider.StatusLocalProtection
	// StatusRemoteAccess says that the peer's memory does not allow the access.
	StatusRemoteAccess = provider.StatusRemoteAccess
	// StatusRemoteOperation says that the peer could not do its part.
	StatusRemoteOperation = provider.StatusRemoteOperation
	// StatusRemoteInvalidate says that the key to invalidate was not valid.
	StatusRemoteInvalidate = provider.StatusRemoteInvalidate
	// StatusReceiverNotReady says that the peer had no receive posted and all retries
	// failed.
	StatusReceiverNotReady = provider.StatusReceiverNotReady
	// StatusTransport says that the connection failed under the request.
	StatusTransport = provider.StatusTransport
)

// Completion is one entry of a completion queue. The entries of an endpoint come in
// order: EventEstablished first, then completions, flushed ones too, and last the
// event that ends the connection.
type Completion struct {
	// Endpoint is the endpoint concerned; nil for StreamConnectionRequest, StreamLimit and
	// StreamAdapter.
	Endpoint *Endpoint
	// ID is that of the WorkRequest or ReceiveRequest.
	ID uint64
	// Event is set for the streams that are not completions of work.
	Event *Event
	// Length is the number of bytes received, sent, written or read.
	Length int
	// Invalidated is the local key that the message revoked, with FlagInvalidate.
	Invalidated uint32
	// Immediate is the number that came with FlagImmediate.
	Immediate uint32
	Stream    Stream
	Op        Opcode
	Status    Status
	// Flags of a receive: FlagSolicited, FlagInvalidate and FlagImmediate as the peer set
	// them.
	Flags RequestFlags
	// notify says that the entry wakes waiters.
	notify bool
}
