package verbs

import "fmt"

// Stream is the kind of an entry of a completion queue.
type Stream uint8

const (
	// StreamReceive completes receives.
	StreamReceive Stream = iota + 1
	// StreamRequest completes Send, Write, Read and Bind.
	StreamRequest
	// StreamConnection carries connection events of endpoints.
	StreamConnection
	// StreamConnectionRequest carries the requests that reach a Listener.
	StreamConnectionRequest
	// StreamLimit says that a shared receive queue fell below its limit.
	StreamLimit
)

// Status is the result of a work request.
type Status uint8

// The statuses. Every one but StatusSuccess ends the connection.
const (
	StatusSuccess Status = iota
	// StatusFlushed belongs to requests that were posted but not done when the
	// connection ended, and to those posted afterwards.
	StatusFlushed
	// StatusLocalLength says that a message was longer than its receive.
	StatusLocalLength
	// StatusLocalProtection says that local memory could not be used.
	StatusLocalProtection
	// StatusRemoteAccess says that the peer's memory does not allow the access.
	StatusRemoteAccess
	// StatusRemoteOperation says that the peer could not do its part.
	StatusRemoteOperation
	// StatusRemoteInvalidate says that the key to invalidate was not valid.
	StatusRemoteInvalidate
	// StatusReceiverNotReady says that the peer had no receive posted and all retries
	// failed.
	StatusReceiverNotReady
	// StatusTransport says that the connection failed under the request.
	StatusTransport
)

var statusNames = [...]string{
	StatusSuccess: "success", StatusFlushed: "flushed", StatusLocalLength: "local length error",
	StatusLocalProtection: "local protection error", StatusRemoteAccess: "remote access error",
	StatusRemoteOperation: "remote operation error", StatusRemoteInvalidate: "remote invalidate error",
	StatusReceiverNotReady: "receiver not ready", StatusTransport: "transport error",
}

// String implements fmt.Stringer.
func (s Status) String() string {
	if int(s) < len(statusNames) {
		return statusNames[s]
	}
	return fmt.Sprintf("Status(%d)", uint8(s))
}

// Completion is one entry of a completion queue. The entries of an endpoint come in
// order: EventEstablished first, then completions, flushed ones too, and last the
// event that ends the connection.
type Completion struct {
	// Endpoint is the endpoint concerned; nil for StreamConnectionRequest and StreamLimit.
	Endpoint *Endpoint
	// ID is that of the WorkRequest or ReceiveRequest.
	ID uint64
	// Event is set for the streams that are not completions of work.
	Event *Event
	// Length is the number of bytes received, sent, written or read.
	Length int
	// Invalidated is the local key that the message revoked, with FlagInvalidate.
	Invalidated uint32
	Stream      Stream
	Op          Opcode
	Status      Status
	// Flags of a receive: FlagSolicited and FlagInvalidate as the peer set them.
	Flags RequestFlags
	// notify says that the entry wakes waiters.
	notify bool
}
