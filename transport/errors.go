package transport

import (
	"errors"
	"fmt"
)

var (
	// ErrAgain says that a ring or a send queue is full. Drive the operation
	// again after the next Poll.
	ErrAgain = errors.New("try again after the next poll")
	// ErrNotSupported says that the transport, the peer or the machine cannot do
	// what was asked. Feature probes return it, tests skip on it.
	ErrNotSupported = errors.New("not supported")
	// ErrPeerDown says that the peer is lost permanently.
	ErrPeerDown = errors.New("peer is down")
	// ErrClosed says that the transport was closed.
	ErrClosed = errors.New("transport is closed")
	// ErrDamaged says that memory or a stream shared with a peer holds what no
	// correct peer writes there. The lane of that peer is dead; nothing else is.
	ErrDamaged = errors.New("shared state is damaged")
	// ErrTooLong says that a message exceeds Caps.MaxEager.
	ErrTooLong = errors.New("message exceeds the eager limit")
	// ErrBadKey says that a Key names memory that is not exposed, or less of it
	// than was asked for.
	ErrBadKey = errors.New("key names no exposed memory of that length")
)

// OpError is the error of one operation, made once where the transport meets
// the system or the peer.
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

// PeerDown is the reason for which a peer was given up.
type PeerDown struct {
	// Peer is the rank that is gone.
	Peer int
	// Cause is what was seen: an exit status, a lost connection, damage.
	Cause error
}

// Error implements error.
func (e *PeerDown) Error() string { return fmt.Sprintf("rank %d is down: %v", e.Peer, e.Cause) }

// Unwrap returns ErrPeerDown and the cause, so that errors.Is finds both.
func (e *PeerDown) Unwrap() []error { return []error{ErrPeerDown, e.Cause} }
