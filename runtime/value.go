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
	// Append appends v, which is not nil if its type has nil, to b.
	Append(b []byte, v *T) ([]byte, error)
	// Decode is the inverse of Append: it sets v, which is zero before. b is valid during the
	// call, and may be malformed. A panic is returned as an error.
	Decode(b []byte, v *T) error
}

// RegisterCodec makes c the codec of the values of type T. It is called at every rank before the
// first such value, preferably in an init function. Only the first registration of a type counts.
// Package actors uses the codec, too, if T is registered there afterwards.
func RegisterCodec[T any](c Codec[T]) { value.Register[T](c) }

// JSON is the Codec of encoding/json, for RegisterCodec.
type JSON[T any] struct{ value.JSON[T] }

// ValueError is a value that could not be encoded or decoded. Nothing was sent, or the message is
// lost; nothing else is.
type ValueError struct {
	// Op is the operation: "SendValue", "RecvValue", "BcastValue", ...
	Op string
	// Rank is that of the other rank in the communicator, that of the sender or of the rank
	// itself in a collective operation. Tag is the tag of the message, AnyTag in one.
	Rank, Tag int
	// Type is the type of the value at this rank, and its codec.
	Type string
	// Cause is what is wrong. It is a TypeMismatchError if the sender's type is another one.
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

// valueElement is the element of messages with values.
var valueElement = func() *element {
	const text = "a value"
	layouts.mu.Lock()
	defer layouts.mu.Unlock()
	typ := layoutFirst + engine.Type(len(layouts.texts))
	layouts.types[text] = typ
	layouts.texts = append(layouts.texts, text)
	return &element{typ: typ, size: 1, layout: new(layout.Layout), plain: true}
}()

// encodings holds memory for the bytes of values that are not longer than encodingKept.
var encodings = sync.Pool{New: func() any { return new([]byte) }}

// encodingKept bounds the bytes that a pool entry keeps.
const encodingKept = 1 << 20

// keepEncoding returns memory to the pool.
func keepEncoding(p *[]byte, b []byte) {
	if cap(b) <= encodingKept {
		*p = b[:0]
		encodings.Put(p)
	}
}

// SendValue sends one value of any type, as Send does a slice; RecvValue receives it. Values without
// pointers (see Element), strings and slices of values without pointers are sent as their bytes,
// others by the codec of RegisterCodec or else by encoding/gob with its rules: unexported fields are
// not sent, the types in interfaces are registered by gob.Register, and an empty slice within a value
// arrives as nil. A value that is nil, and one that is an empty slice or map, arrives as it is. Values
// that contain themselves or are nested more than 10,000 times are refused. A value that cannot be
// encoded is a ValueError, and nothing is sent.
func SendValue[T any](c *Comm, v T, dest, tag int) error {
	if null, err := c.checkValue(dest, tag); null || err != nil {
		return err
	}
	p := encodings.Get().(*[]byte)
	b, err := value.Append(*p, &v)
	if err != nil {
		err = unsent[T]("SendValue", dest, tag, err)
	} else {
		err = c.send(valueElement, b, dest, tag, engine.Standard)
	}
	keepEncoding(p, b)
	return err
}

// IsendValue starts a SendValue. v is encoded before it returns, and may be changed then.
func IsendValue[T any](c *Comm, v T, dest, tag int) Request {
	if null, err := c.checkValue(dest, tag); null || err != nil {
		return unstarted(err)
	}
	b, err := value.Append(nil, &v)
	if err != nil {
		return failedRequest(unsent[T]("IsendValue", dest, tag, err))
	}
	return c.isend(valueElement, b, dest, tag, engine.Standard)
}

// checkValue checks the address of a value before it is encoded, and reports whether it is ProcNull.
func (c *Comm) checkValue(dest, tag int) (null bool, err error) {
	if c.ordinary(valueElement, dest, tag) {
		return false, nil
	}
	o, err := c.outgoing(valueElement, nil, dest, tag)
	return o.to.Peer == ProcNull, err
}

// unsent is the error of a value that cannot be encoded.
func unsent[T any](op string, dest, tag int, cause error) error {
	return callsite.At(&ValueError{Op: op, Rank: dest, Tag: tag, Type: value.Name[T](), Cause: cause})
}

// RecvValue receives a value of SendValue, of whatever length; source and tag may be AnySource and
// AnyTag. From ProcNull it is zero. A value of another type, and a message that is no value, is a
// ValueError whose cause is a TypeMismatchError. The memory of the value is this rank's.
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
			v, err = zero, undecoded[T](s, err)
		}
	} else if elements, ok := errors.AsType[*TypeMismatchError](err); ok {
		err = undecoded[T](s, &value.TypeError{Sent: "elements of " + elements.Sent, Want: value.Name[T]()})
	}
	keepEncoding(p, b)
	return v, s, err
}

// bytes receives the message of a value into room, or into new memory.
func (m *Matched) bytes(room []byte) ([]byte, Status, error) {
	n := m.status.Bytes
	m.taken()
	var memory error
	if n > cap(room) {
		if room, memory = allocate(n); memory != nil {
			n = 0
		}
	}
	s, err := m.message.Recv(m.comm.ctx, valueElement.typ, room[:n], 0)
	switch {
	case memory != nil:
		err = &MemoryError{Source: m.status.Source, Tag: m.status.Tag, Bytes: m.status.Bytes, Cause: memory}
		err = callsite.At(err)
	case err != nil:
		err = m.comm.failed(err)
	}
	return room[:n], m.comm.status(s, 1), err
}

// undecoded is the error of a value that cannot be decoded.
func undecoded[T any](s Status, cause error) error {
	if t, ok := errors.AsType[*value.TypeError](cause); ok {
		cause = &TypeMismatchError{Source: s.Source, Tag: s.Tag, Sent: t.Sent, Want: t.Want}
	}
	return callsite.At(&ValueError{Op: "RecvValue", Rank: s.Source, Tag: s.Tag, Type: value.Name[T](), Cause: cause})
}
