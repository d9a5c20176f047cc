package provider

import "fmt"

// Status is the result of a work request.
type Status uint8

// The statuses. If a work request has any status except StatusSuccess, its connection, or the attempt
// to connect, ends or has ended.
const (
	StatusSuccess Status = iota
	// StatusFlushed is the status of work that was not done when the connection ended, and of work
	// that was posted later.
	StatusFlushed
	// StatusLocalLength means that a message was longer than its receive.
	StatusLocalLength
	// StatusLocalProtection means that the adapter could not access local memory.
	StatusLocalProtection
	// StatusRemoteAccess means that the peer's memory does not allow the access.
	StatusRemoteAccess
	// StatusRemoteOperation means that the peer could not do its part of the operation.
	StatusRemoteOperation
	// StatusRemoteInvalidate means that the key to invalidate was not valid.
	StatusRemoteInvalidate
	// StatusReceiverNotReady means that the peer had no receive posted and all retries
	// failed.
	StatusReceiverNotReady
	// StatusTransport means that the connection failed while the request was in flight.
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
