package engine

import (
	"errors"
	"fmt"

	"github.com/gorun-hpc/gorun/transport"
)

var (
	// ErrCanceled is the cause of the error of operations that were cancelled before
	// their match.
	ErrCanceled = errors.New("operation was cancelled")
	// ErrClosed is the error of operations on a closed engine.
	ErrClosed = errors.New("the World is closed")
	// ErrPanicked is the error of operations on an engine that ended because of a panic in a
	// transport or in a call that waits.
	ErrPanicked = errors.New("a panic in this rank has ended its message engine")
	// ErrStreamClosed is the error of sending an actor message through a closed stream.
	ErrStreamClosed = errors.New("stream is closed")
	// ErrForgotten is the error of a send whose message was dropped, because its receiver does not
	// use the context any more, see Engine.Forget.
	ErrForgotten = errors.New("the receiver dropped the message")
	// ErrAddress is the error of a rank or a tag outside its range.
	ErrAddress = errors.New("rank or tag out of range")
	// ErrProtocol is the cause of the loss of a peer that violated the protocol.
	ErrProtocol = errors.New("the peer violated the protocol")
)

// PeerError is the error of an operation whose peer is down. For a receive from AnySource, Rank is
// the rank whose loss ended the receive.
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

// TruncatedError is the error of a receive whose buffer is shorter than its message. The
// first Room bytes of the message are in the buffer. The sender is not affected.
type TruncatedError struct {
	Source, Tag int
	// Sent is the length of the message in bytes. Room is the length of the buffer in bytes.
	Sent, Room int
}

// Error implements error.
func (e *TruncatedError) Error() string {
	return fmt.Sprintf("message of %d bytes from rank %d with tag %d is longer than the buffer of %d bytes",
		e.Sent, e.Source, e.Tag, e.Room)
}

// TypeMismatchError is the error of a receive whose element type differs from the element
// type of its message. The message is consumed. The sender is not affected.
type TypeMismatchError struct {
	Source, Tag int
	// Sent is the text of the message's type. Want is the text of the receive's type.
	Sent, Want string
}

// Error implements error.
func (e *TypeMismatchError) Error() string {
	return fmt.Sprintf("message from rank %d with tag %d has elements of %s, the receive wants %s",
		e.Source, e.Tag, e.Sent, e.Want)
}

// LabelError is the error of a receive whose label differs from the label of its message.
// The message is consumed. The sender is not affected.
type LabelError struct {
	Source, Tag int
	// Sent is the label of the message. Want is the label of the receive.
	Sent, Want uint32
}

// Error implements error.
func (e *LabelError) Error() string {
	return fmt.Sprintf("message from rank %d with tag %d carries label %#x, the receive wants %#x",
		e.Source, e.Tag, e.Sent, e.Want)
}

// MemoryError is the error of a RecvMessage if there is no memory for the message. The message is
// lost. The sender is not affected.
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

// CancelError is the error of an operation that was cancelled before its match, or that an inline handler
// would have had to wait for. errors.Is finds ErrCanceled in it, and also the Cause: for example the cause
// of the end of a context, or ErrInline.
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

// errTooMany is the error of an operation if 16 million other operations wait for answers.
var errTooMany = errors.New("too many operations under way")
