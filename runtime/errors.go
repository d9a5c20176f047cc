package runtime

import (
	"errors"
	"fmt"

	"github.com/gorun-hpc/gorun/internal/callsite"
	"github.com/gorun-hpc/gorun/runtime/internal/engine"
)

var (
	// ErrCanceled ends an operation that was canceled before it was matched: by Request.Cancel, by the end of its
	// context.Context, or because of ErrInline.
	ErrCanceled = engine.ErrCanceled
	// ErrInline ends an operation that would have to wait in the handler of an inline actor, see
	// package actors.
	ErrInline = engine.ErrInline
	// ErrClosed ends operations of a World that was closed.
	ErrClosed = engine.ErrClosed
	// ErrAborted ends operations of a World that was aborted.
	ErrAborted = errors.New("job aborted")
	// ErrCommBroken ends operations on a communicator that is broken: a member has abandoned a
	// collective operation or has called Revoke. Agree, Shrink, Ack, Failed, Revoke and Close still
	// work. ErrCommBroken also ends operations if the World has ended with the loss of a rank (World.Resume);
	// then Agree and Shrink fail, too.
	ErrCommBroken = errors.New("communicator is broken")
	// ErrCommClosed is the error of operations on a communicator after Close.
	ErrCommClosed = errors.New("communicator was closed")
	// ErrInUse ends a collective operation that begins while another goroutine of the rank is in an
	// operation of the same kind on the same communicator. Each of the following sets is one kind: Split and
	// SplitType; Agree and Shrink; CreateCart and Cart.Sub; the calls that make a Graph; Intercomm.Dup and
	// Intercomm.Merge; NewShared and NewSharedAmong; the blocking operations of package collectives. The
	// operation of the other goroutine ends with ErrInUse, too, unless it is Agree, Shrink, CreateIntercomm or a method
	// of Intercomm.
	ErrInUse = errors.New("communicator is in use")
	// ErrComm is the error for a communicator that is nil or of the wrong kind.
	ErrComm = errors.New("communicator is nil or of the wrong kind")
	// ErrTopology is the error of an operation that needs a topology if the communicator has none.
	ErrTopology = errors.New("communicator has no topology")
	// ErrRank is the error for a rank that is not in the communicator or group.
	ErrRank = errors.New("rank out of range")
	// ErrTag is the error for a tag outside of 0..TagMax.
	ErrTag = errors.New("tag out of range")
	// ErrAlias is the error for buffers that overlap if the operation does not allow it.
	ErrAlias = errors.New("buffers overlap")
	// ErrArgument is the error for any other invalid argument.
	ErrArgument = errors.New("bad argument")
	// ErrRequest is the error of an operation that does not fit the state of the request.
	ErrRequest = errors.New("request is in the wrong state")
	// ErrElementType is the error for an element type that contains pointers or has 2 GiB or more.
	ErrElementType = errors.New("element type cannot be sent")
)

// CallError is the error of an operation together with the source line of the call that returned it,
// as in "at main.go:12: send: rank 1 is down". For a nonblocking operation, this is the line of Wait
// or Test, or the line of the start if the operation could not be started. The field of a CallError:
//
//	Err error // what went wrong
type CallError = callsite.Error

// PeerError ends operations that need a rank that was lost.
//
// errors.As finds the PeerError in the error of every operation that names the rank. If the loss
// breaks a communicator, the operations of all its members end. Then errors.As finds the PeerError
// at each member, and errors.Is finds ErrCommBroken. Both are found no matter whether a rank
// detects the loss itself or receives the notice of another member first. If a communicator was
// broken for another reason, its error has that reason. The fields of a PeerError:
//
//	Rank  int    // the world rank that was lost
//	Op    string // the operation
//	Cause error  // how the loss was detected
type PeerError = engine.PeerError

// TruncatedError ends a receive whose buffer was shorter than its message. The buffer holds the
// beginning of the message, and the rest is lost. No other message is affected. The fields of a
// TruncatedError:
//
//	Source int // the sender's rank in the communicator
//	Tag    int // the tag of the message
//	Sent   int // the length of the message in bytes
//	Room   int // the length of the buffer in bytes
type TruncatedError = engine.TruncatedError

// TypeMismatchError ends a receive whose elements have another layout than the elements of the message. The message
// is lost. No other message is affected. The fields of a TypeMismatchError:
//
//	Source int    // the sender's rank in the communicator
//	Tag    int    // the tag of the message
//	Sent   string // the layout of the elements that were sent, such as "float64" or
//	              // "{int64 float32*3 _4}", where _4 is four bytes of padding
//	Want   string // the layout of the elements of the receive
type TypeMismatchError = engine.TypeMismatchError

// MemoryError ends a RecvMessage, RecvValue or Stream if this rank has no memory for the message. The
// message is lost. No other message is affected. The fields of a MemoryError:
//
//	Source int   // the sender's rank in the communicator
//	Tag    int   // the tag of the message
//	Bytes  int   // the length of the message as announced by its sender
//	Cause  error // why there is no memory for it
type MemoryError = engine.MemoryError

// ElementTypeError is the reason why a type cannot be an element of a message. errors.Is reports
// that it is ErrElementType.
type ElementTypeError struct {
	// Type is the element type that was refused.
	Type string
	// Field is the path of the field that cannot be sent; "" if the type itself cannot be sent.
	Field string
	// Kind is the kind of that field or type: "pointer", "string", "slice", ..., or "type of 2 GiB or more".
	Kind string
}

// Error implements error.
func (e *ElementTypeError) Error() string {
	what, article := e.Type, "a"
	if e.Field != "" {
		what = "field " + e.Field + " of " + e.Type
	}
	if e.Kind == "interface" {
		article = "an"
	}
	return fmt.Sprintf("%v: %s is %s %s (SendValue and the other functions of values take any type)", ErrElementType, what, article, e.Kind)
}

// Unwrap returns ErrElementType.
func (e *ElementTypeError) Unwrap() error { return ErrElementType }

// BrokenError ends operations on a broken communicator. errors.Is and errors.As find ErrCommBroken
// and the cause in it.
type BrokenError struct {
	// Comm is the name of the communicator.
	Comm string
	// Rank is the rank of the member that broke the communicator. If no member broke the communicator,
	// but its World has ended with the loss of a rank, Rank is the world rank of this process.
	Rank int
	// Cause is the reason. At the rank that called Break, it is the error that was passed to Break. At the other
	// ranks, it is the text of that error (cut if it is long, see Break), with a PeerError if the reason is the
	// loss of a rank. If the World has ended with the loss of a rank, it is the PeerError of that rank.
	Cause error
	// member is the world rank of the member that broke the communicator. origin is the world rank whose
	// failure led to the break. The flag over is true if no member broke the communicator, but its World has
	// ended.
	member, origin int
	over           bool
}

// FailureOrigin returns the world rank whose failure broke the communicator. If the cause has a method
// FailureOrigin, it is the result of that method. If the World has ended with the loss of a rank, it is
// the lost rank. Otherwise it is the world rank of the member that broke the communicator.
func (e *BrokenError) FailureOrigin() int { return e.origin }

// Error implements error.
func (e *BrokenError) Error() string {
	if e.over {
		return fmt.Sprintf("communicator %s has ended: %v", e.Comm, e.Cause)
	}
	return fmt.Sprintf("communicator %s was broken by rank %d: %v", e.Comm, e.Rank, e.Cause)
}

// Unwrap returns ErrCommBroken and the cause.
func (e *BrokenError) Unwrap() []error { return []error{ErrCommBroken, e.Cause} }

// AbortError ends the operations of the ranks of Local, LocalContext or LocalRespawn after a rank has
// called Abort or has failed. errors.Is and errors.As find ErrAborted and the cause in it.
type AbortError struct {
	// Rank is the world rank that called Abort or failed.
	Rank int
	// Code is the exit code that rank Rank passed to Abort; 1 if the rank failed without a call of Abort.
	Code int
	// Cause is the reason, or nil.
	Cause error
}

// Error implements error.
func (e *AbortError) Error() string {
	if e.Cause == nil {
		return fmt.Sprintf("%v by rank %d with code %d", ErrAborted, e.Rank, e.Code)
	}
	return fmt.Sprintf("%v by rank %d: %v", ErrAborted, e.Rank, e.Cause)
}

// Unwrap returns ErrAborted and the cause.
func (e *AbortError) Unwrap() []error {
	if e.Cause == nil {
		return []error{ErrAborted}
	}
	return []error{ErrAborted, e.Cause}
}

// RankError is the failure of one rank of Local, LocalContext or LocalRespawn.
type RankError struct {
	// Rank is the world rank that failed.
	Rank int
	// Err is the reason, for example the error that the rank's function returned, or a PanicError.
	Err error
}

// Error implements error.
func (e *RankError) Error() string { return fmt.Sprintf("rank %d: %v", e.Rank, e.Err) }

// Unwrap returns the cause.
func (e *RankError) Unwrap() error { return e.Err }

// HangError is the error of a LocalContext or LocalRespawn that was ended by its context.Context.
// errors.Is and errors.As find its Cause in it.
type HangError struct {
	// Cause is the cause of the end of the context.Context.
	Cause error
	// Report describes what the ranks were doing, in the form of gorun's report at SIGQUIT.
	Report string
}

// Error returns the text of the cause and the report.
func (e *HangError) Error() string {
	return fmt.Sprintf("%v; what the ranks were doing:\n%s", e.Cause, e.Report)
}

// Unwrap returns the cause.
func (e *HangError) Unwrap() error { return e.Cause }

// PanicError is a panic of a rank of Local, LocalContext or LocalRespawn.
type PanicError struct {
	// Value is the value of the panic.
	Value any
	// Stack is the stack of the goroutine that panicked.
	Stack []byte
}

// Error implements error.
func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v\n\n%s", e.Value, e.Stack) }

// Unwrap returns the value of the panic if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}
