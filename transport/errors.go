package transport

import (
	"errors"
	"fmt"
)

var (
	// ErrAgain means that the transport cannot accept the operation now, for example because a ring
	// or a send queue is full, or because the connection is not established yet. The caller has to
	// repeat the operation after the next Poll.
	ErrAgain = errors.New("try again after the next poll")
	// ErrNotSupported means that the transport, the peer or the machine does not have the requested
	// capability. A probe of a missing capability returns ErrNotSupported, and a test that gets
	// ErrNotSupported is skipped.
	ErrNotSupported = errors.New("not supported")
	// ErrPeerDown means that the peer is lost permanently.
	ErrPeerDown = errors.New("peer is down")
	// ErrClosed means that this rank or the peer has closed its transport.
	ErrClosed = errors.New("transport is closed")
	// ErrDamaged means that memory or a stream shared with a peer has contents that a correct peer
	// never writes. The lane of that peer cannot be used any more. Other peers are not affected, unless
	// the damaged memory is the inbox of package shm, which all peers write.
	ErrDamaged = errors.New("shared state is damaged")
	// ErrTooLong means that a message exceeds Caps.MaxEager.
	ErrTooLong = errors.New("message exceeds the eager limit")
	// ErrBadKey means that a Key does not name exposed memory, that it names fewer bytes than the
	// operation accesses, that the memory is not exposed for this operation, or that the word of a
	// FetchAdd is not aligned.
	ErrBadKey = errors.New("key names no exposed memory that this operation may access")
)

// OpError is the error of one operation. The transport creates the OpError where it detects the
// error, or where the operating system or the peer reports the error.
type OpError struct {
	// Op is the operation: "send", "get", "put", "connect", "poll", ...
	Op string
	// Transport is the name of the transport: "shm", "rdma", ...
	Transport string
	// Peer is the rank at the other end, or -1.
	Peer int
	// Err is the cause.
	Err error
}

// Error implements error.
func (e *OpError) Error() string {
	if e.Peer < 0 {
		return fmt.Sprintf("%s %s: %v", e.Op, e.Transport, e.Err)
	}
	return fmt.Sprintf("%s %s rank %d: %v", e.Op, e.Transport, e.Peer, e.Err)
}

// Unwrap returns the cause.
func (e *OpError) Unwrap() error { return e.Err }

// PeerDown is the error that reports the loss of a peer.
type PeerDown struct {
	// Peer is the rank that is lost.
	Peer int
	// Cause is the reason: an exit status, a lost connection, or damage (ErrDamaged).
	Cause error
}

// Error implements error.
func (e *PeerDown) Error() string { return fmt.Sprintf("rank %d is down: %v", e.Peer, e.Cause) }

// Unwrap returns ErrPeerDown and the cause, so that errors.Is finds both.
func (e *PeerDown) Unwrap() []error { return []error{ErrPeerDown, e.Cause} }
