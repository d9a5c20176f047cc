package runtime

import (
	"errors"
	"fmt"
)

var (
	// ErrCanceled ends an operation that was canceled before it was matched.
	ErrCanceled = errors.New("operation canceled")
	// ErrClosed ends operations of a World that was closed.
	ErrClosed = errors.New("world is closed")
	// ErrAborted ends operations of a World that was aborted.
	ErrAborted = errors.New("job aborted")
	// ErrCommBroken ends operations on a communicator in which a collective
	// operation was given up halfway. Only Free is of use then.
	ErrCommBroken = errors.New("communicator is broken")
	// ErrCommFreed refuses operations on a communicator after Free.
	ErrCommFreed = errors.New("communicator was freed")
	// ErrComm refuses a nil communicator.
	ErrComm = errors.New("no communicator")
	// ErrRank refuses a rank that is not in the communicator.
	ErrRank = errors.New("rank out of range")
	// ErrTag refuses a tag outside of 0..TagMax.
	ErrTag = errors.New("tag out of range")
	// ErrAlias refuses buffers that overlap where they may not.
	ErrAlias = errors.New("buffers overlap")
	// ErrArgument refuses other arguments out of range.
	ErrArgument = errors.New("bad argument")
	// ErrRequest refuses an operation that does not fit the state of the request.
	ErrRequest = errors.New("request is in the wrong state")
	// ErrElementType refuses an element type that contains pointers.
	ErrElementType = errors.New("element type cannot travel")
)

// ElementTypeError says why a type cannot be an element of a message. It is
// ErrElementType.
type ElementTypeError struct {
	// Type is the element type that was refused.
	Type string
	// Field is the path of the offending field, "" if it is the type itself.
	Field string
	// Kind is the kind of the offending field: "pointer", "string", "slice", ...
	Kind string
}

// Error implements error.
func (e *ElementTypeError) Error() string {
	if e.Field == "" {
		return fmt.Sprintf("%v: %s is a %s", ErrElementType, e.Type, e.Kind)
	}
	return fmt.Sprintf("%v: field %s of %s is a %s", ErrElementType, e.Field, e.Type, e.Kind)
}

// Unwrap returns ErrElementType.
func (e *ElementTypeError) Unwrap() error { return ErrElementType }
