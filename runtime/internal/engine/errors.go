package engine

import (
	"errors"
	"fmt"

	"github.com/gorun-hpc/gorun/transport"
)

var (
	// ErrCanceled is the cause of operations that were cancelled before their
	// match.
	ErrCanceled = errors.New("operation was cancelled")
	// ErrClosed is the cause of operations on a closed engine.
	ErrClosed = errors.New("engine is closed")
	// ErrPanicked is the cause of operations on an engine in which a panic has left a
	// transport, or a call that waits, unfinished.
	ErrPanicked = errors.New("the engine ended by a panic")
	// ErrStreamClosed refuses an actor message of a stream that was closed.
	ErrStreamClosed = errors.New("stream is closed")
	// ErrForgotten ends a send whose message was dropped because its receiver does not use the
	// context any more, see Engine.Forget.
	ErrForgotten = errors.New("the receiver dropped the message")
	// ErrAddress says that a rank or a tag lies outside its range.
	ErrAddress = errors.New("rank or tag out of range")
	// ErrProtocol says that a peer violated the protocol.
	ErrProtocol = errors.New("peer broke the protocol")
)

// PeerError ends an operation whose peer is down. For a receive from AnySource, Rank is the
// rank whose loss it reports.
type PeerError struct {
	Rank  int
	Op    string
	Cause error
}

// Error implements error.
func (e *PeerError) Error() string {
	if down, ok := e.Cause.(*transport.PeerDown); ok && down.Peer == e.Rank { //nolint:errorlint // its text alone names the rank
		return fmt.Sprintf("%s: %v", e.Op, down)
	}
	return fmt.Sprintf("%s: rank %d: %v", e.Op, e.Rank, e.Cause)
}

// Unwrap returns the cause.
func (e *PeerError) Unwrap() error { return e.Cause }

// TruncatedError ends a receive whose buffer is shorter than its message. The
// first Room bytes are in the buffer; the sender is not affected.
type TruncatedError struct {
	Source, Tag int
	// Sent is the length of the message, Room that of the buffer, in bytes.
	Sent, Room int
}

// Error implements error.
func (e *TruncatedError) Error() string {
	return fmt.Sprintf("message of %d bytes from rank %d with tag %d is longer than the buffer of %d bytes",
		e.Sent, e.Source, e.Tag, e.Room)
}

// TypeMismatchError ends a receive whose element type is not that of its message.
// The message is consumed; the sender is not affected.
type TypeMismatchError struct {
	Source, Tag int
	// Sent and Want are the texts of the two types.
	Sent, Want string
}

// Error implements error.
func (e *TypeMismatchError) Error() string {
	return fmt.Sprintf("message from rank %d with tag %d has elements of %s, the receive wants %s",
		e.Source, e.Tag, e.Sent, e.Want)
}

// LabelError ends a receive whose label is not that of its message. The message is
// consumed; the sender is not affected.
type LabelError struct {
	Source, Tag int
	// Sent and Want are the two labels.
	Sent, Want uint32
}

// Error implements error.
func (e *LabelError) Error() string {
	return fmt.Sprintf("message from rank %d with tag %d carries label %#x, the receive wants %#x",
		e.Source, e.Tag, e.Sent, e.Want)
}

// MemoryError ends a RecvMessage if there is no memory for the message. The message is lost;
// the sender is not affected.
type MemoryError struct {
	Source, Tag int
	// Bytes is the length of the message according to its sender.
	Bytes int
	// Cause is the error of the allocation.
	Cause error
}

// Error implements error.
func (e *MemoryError) Error() string {
	return fmt.Sprintf("no memory for a message of %d bytes from rank %d with tag %d: %v", e.Bytes, e.Source, e.Tag, e.Cause)
}

// Unwrap returns the cause.
func (e *MemoryError) Unwrap() error { return e.Cause }

// CancelError ends an operation that was cancelled before its match. errors.Is
// finds ErrCanceled and, when a context was the reason, that context's error.
type CancelError struct {
	Op    string
	Cause error
}

// Error implements error.
func (e *CancelError) Error() string {
	if e.Cause == nil {
		return e.Op + ": " + ErrCanceled.Error()
	}
	return fmt.Sprintf("%s: %v: %v", e.Op, ErrCanceled, e.Cause)
}

// Unwrap returns ErrCanceled and the cause.
func (e *CancelError) Unwrap() []error {
	if e.Cause == nil {
		return []error{ErrCanceled}
	}
	return []error{ErrCanceled, e.Cause}
}

// errTooMany ends an operation if 16 million others wait for answers.
var errTooMany = errors.New("too many operations under way")
