package provider

import "fmt"

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
