package verbs

import "github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"

// Stream is the kind of an entry of a completion queue.
type Stream uint8

const (
	// StreamReceive entries report the completion of receives.
	StreamReceive Stream = iota + 1
	// StreamRequest entries report the completion of Sends, Writes, Reads and atomics.
	StreamRequest
	// StreamConnection entries report connection events of endpoints.
	StreamConnection
	// StreamConnectionRequest entries deliver the requests that reach a Listener.
	StreamConnectionRequest
	// StreamLimit entries report that a shared receive queue holds fewer receives than its limit.
	StreamLimit
	// StreamAdapter entries report events of the adapter as a whole, see Adapter.Watch.
	StreamAdapter
)

// Status is the result of a work request.
type Status = provider.Status

// The statuses. If a work request has any status except StatusSuccess, its connection, or the attempt
// to connect, ends or has ended.
const (
	StatusSuccess = provider.StatusSuccess
	// StatusFlushed means that the request, or an earlier request of the endpoint, was not done when
	// the connection ended, or that the request was posted after the end of the connection.
	StatusFlushed = provider.StatusFlushed
	// StatusLocalLength means that a message was longer than its receive.
	StatusLocalLength = provider.StatusLocalLength
	// StatusLocalProtection means that local memory could not be used.
	StatusLocalProtection = provider.StatusLocalProtection
	// StatusRemoteAccess means that the peer's memory does not allow the access.
	StatusRemoteAccess = provider.StatusRemoteAccess
	// StatusRemoteOperation means that the peer could not execute its part of the request.
	StatusRemoteOperation = provider.StatusRemoteOperation
	// StatusRemoteInvalidate means that the key to invalidate was not valid.
	StatusRemoteInvalidate = provider.StatusRemoteInvalidate
	// StatusReceiverNotReady means that the peer had no receive posted and all retries failed.
	StatusReceiverNotReady = provider.StatusReceiverNotReady
	// StatusTransport means that the connection failed during the request.
	StatusTransport = provider.StatusTransport
)

// Completion is one entry of a completion queue. The entries of an endpoint come in this order:
// first EventEstablished, then completions, including flushed ones, and then the event that ends
// the connection. Only flushed completions of work that is posted in StateDisconnected come later.
type Completion struct {
	// Endpoint is the endpoint of the entry. It is nil for StreamConnectionRequest, StreamLimit and
	// StreamAdapter.
	Endpoint *Endpoint
	// ID is the ID of the WorkRequest or ReceiveRequest.
	ID uint64
	// Event is set in entries that report no completion of a work request.
	Event *Event
	// Length is the number of bytes received, sent, written or read.
	Length int
	// Invalidated is the key of this adapter that the received message has invalidated. It is valid if Flags
	// contains FlagInvalidate.
	Invalidated uint32
	// Immediate is the number that the peer sent with FlagImmediate. It is valid if Flags contains
	// FlagImmediate.
	Immediate uint32
	Stream    Stream
	Op        Opcode
	Status    Status
	// Flags contains, for a receive, those of FlagSolicited, FlagInvalidate and FlagImmediate that
	// the peer has set on the message.
	Flags RequestFlags
	// notify is true if the entry wakes waiters.
	notify bool
}
