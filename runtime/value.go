package runtime

import (
	"errors"
	"fmt"
	"sync"

	"github.com/gorun-hpc/gorun/internal/callsite"
	"github.com/gorun-hpc/gorun/runtime/internal/engine"
	"github.com/gorun-hpc/gorun/runtime/internal/layout"
	"github.com/gorun-hpc/gorun/runtime/internal/value"
)

// Codec encodes and decodes the values of one type. Several goroutines may call its methods at the
// same time.
type Codec[T any] interface {
	// Append appends the encoding of *v to b. If T is a type whose values can be nil, *v is not nil.
	Append(b []byte, v *T) ([]byte, error)
	// Decode decodes b, which Append has made, into *v, which is zero before the call. b is valid
	// only during the call, and may be malformed. The runtime turns a panic of Decode into an error.
	Decode(b []byte, v *T) error
}

// RegisterCodec makes c the codec of the values of type T. Every rank calls it before it sends or
// receives the first such value, preferably in an init function. Only the first registration of a
// type counts. If T is registered with package actors after this call, package actors uses the codec,
// too.
func RegisterCodec[T any](c Codec[T]) { value.Register[T](c) }

// JSON is the Codec of encoding/json, for RegisterCodec.
type JSON[T any] struct{ value.JSON[T] }

// ValueError is the error for a value that could not be encoded or decoded. If the value could not be
// encoded, it was not sent. If it could not be decoded, its message is lost. Other operations are not
// affected.
type ValueError struct {
	// Op is the operation: "SendValue", "RecvValue", "BcastValue", ...
	Op string
	// Rank is the rank of the peer in the communicator; in a collective operation, the rank that
	// gave the value. Tag is the tag of the message; in a collective operation, AnyTag.
	Rank, Tag int
	// Type is the type of the value at this rank, with its codec.
	Type string
	// Cause is the reason. It is a TypeMismatchError if the sender's type differs from the
	// receiver's type.
	Cause error
}

// Error implements error.
func (e *ValueError) Error() string {
	if e.Tag == AnyTag {
		cause := e.Cause
		if t, ok := errors.AsType[*TypeMismatchError](cause); ok {
			cause = &value.TypeError{Sent: t.Sent, Want: t.Want}
		}
		return fmt.Sprintf("%s: %s of rank %d: %v", e.Op, e.Type, e.Rank, cause)
	}
	return fmt.Sprintf("%s: %s, rank %d, tag %d: %v", e.Op, e.Type, e.Rank, e.Tag, e.Cause)
}

// Unwrap returns the cause.
func (e *ValueError) Unwrap() error { return e.Cause }

// valueElement is the element type of messages that carry values.
var valueElement = &element{typ: textNumber("a value"), size: 1, layout: new(layout.Layout), plain: true}

// encodings holds reusable slices of at most encodingKept bytes for encoded values.
var encodings = sync.Pool{New: func() any { return new([]byte) }}

// encodingKept bounds the capacity of a slice in encodings.
const encodingKept = 1 << 20

// keepEncoding returns p to encodings with the memory of b. It does nothing if b is too large.
func keepEncoding(p *[]byte, b []byte) {
	if cap(b) <= encodingKept {
		*p = b[:0]
		encodings.Put(p)
	}
}

// SendValue sends one value of any type, as Send sends a slice; RecvValue receives it. If a codec was
// registered for T (RegisterCodec), this codec encodes the value. Otherwise, three kinds of values are
// sent as their bytes: strings, values without pointers (see Element), and slices of values without
// pointers. encoding/gob encodes all other values. Its rules apply to them: unexported fields are not
// sent, types in interfaces must be registered by gob.Register, and an empty slice within a value
// arrives as nil. A value that is itself nil, or an empty slice or map, arrives unchanged. gorun does not
// pass three kinds of values to encoding/gob: values that contain themselves, values that are nested more
// than 10,000 levels deep, and pointers to nil pointers. They cannot be encoded. If a value cannot be
// encoded, the error is a ValueError, and nothing is sent.
func SendValue[T any](c *Comm, v T, dest, tag int) error {
	if null, err := c.checkValue(dest, tag); null || err != nil {
		return err
	}
	p := encodings.Get().(*[]byte)
	b, err := value.Append(*p, &v)
	if err != nil {
		err = valueError[T]("SendValue", dest, tag, err)
	} else {
		err = c.send(valueElement, b, dest, tag, engine.Standard)
	}
	keepEncoding(p, b)
	return err
}

// IsendValue starts a SendValue. It encodes v before it returns. After that, v may be changed.
func IsendValue[T any](c *Comm, v T, dest, tag int) Request {
	if null, err := c.checkValue(dest, tag); null || err != nil {
		return unstarted(err)
	}
	b, err := value.Append(nil, &v)
	if err != nil {
		return unstarted(valueError[T]("IsendValue", dest, tag, err))
	}
	return c.isend(valueElement, b, dest, tag, engine.Standard)
}

// checkValue checks dest and tag before a value is encoded, and reports whether dest is ProcNull.
func (c *Comm) checkValue(dest, tag int) (null bool, err error) {
	if c.ordinary(valueElement, dest, tag) {
		return false, nil
	}
	o, err := c.outgoing(valueElement, nil, dest, tag)
	return o.to.Peer == ProcNull, err
}

// RecvValue receives a value that SendValue has sent, of any length. source and tag may be AnySource and
// AnyTag. From ProcNull the value is zero. If the message has a value of another type, or elements
// of a type other than byte, the error is a ValueError whose cause is a TypeMismatchError. If it has bytes that are not
// a value, the error is a ValueError with another cause. This rank owns the memory of the value.
func RecvValue[T any](c *Comm, source, tag int) (T, Status, error) {
	var v, zero T
	m, err := Mprobe(c, source, tag)
	if err != nil || m.message == nil {
		return zero, nullStatus, err
	}
	p := encodings.Get().(*[]byte)
	b, s, err := m.bytes(*p)
	if err == nil {
		err = value.Decode(b, &v)
		if err != nil {
			v, err = zero, valueError[T]("RecvValue", s.Source, s.Tag, err)
		}
	} else if elements, ok := errors.AsType[*TypeMismatchError](err); ok {
		err = valueError[T]("RecvValue", s.Source, s.Tag, &value.TypeError{Sent: "elements of " + elements.Sent, Want: value.Name[T]()})
	}
	keepEncoding(p, b)
	return v, s, err
}

// bytes receives the message of a value into room or, if room is too small, into new memory. If the
// memory is not available, the message is discarded and the error is a MemoryError. Then the result is in room and has
// only the first frameHead bytes; these are the head of the frame if the message belongs to a stream. The result is
// empty if room is too small for these bytes, or if the transfer failed.
func (m *Matched) bytes(room []byte) ([]byte, Status, error) {
	n := m.status.Bytes
	m.taken()
	var memory error
	if n > cap(room) {
		var more []byte
		if more, memory = allocate(n); memory == nil {
			room = more
		} else if n = frameHead; n > cap(room) {
			n = 0
		}
	}
	s, err := m.message.Recv(m.comm.ctx, valueElement.typ, room[:n])
	switch {
	case memory != nil:
		if _, truncated := errors.AsType[*TruncatedError](err); !truncated {
			n = 0
		}
		err = &MemoryError{Source: m.status.Source, Tag: m.status.Tag, Bytes: m.status.Bytes, Cause: memory}
		err = callsite.At(err)
	case err != nil:
		err = m.comm.failed(err)
	}
	return room[:n], m.comm.status(s, 1), err
}

// valueError returns the error for a value of type T that cannot be encoded or decoded. The arguments op, rank and tag
// become fields of the ValueError.
func valueError[T any](op string, rank, tag int, cause error) error {
	if t, ok := errors.AsType[*value.TypeError](cause); ok {
		cause = &TypeMismatchError{Source: rank, Tag: tag, Sent: t.Sent, Want: t.Want}
	}
	return callsite.At(&ValueError{Op: op, Rank: rank, Tag: tag, Type: value.Name[T](), Cause: cause})
}
