package value

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"sync"
)

var (
	// ErrMalformed is the error of decoding bytes that no correct sender sends.
	ErrMalformed = errors.New("malformed value")
	// ErrDepth is the error of encoding a value that is nested too deeply.
	ErrDepth = errors.New("value is nested too deeply")
	// ErrFailed is the error of decoding a failure, which the sender sent in place of a value.
	ErrFailed = errors.New("the sender failed")
)

// TypeError is the error of decoding a value of another type or a value that another codec encoded.
// Sent and Want are the names of type and codec at the sender and at the receiver.
type TypeError struct{ Sent, Want string }

// Error implements error.
func (e *TypeError) Error() string {
	return fmt.Sprintf("the sender's type is %s, the receiver's %s", e.Sent, e.Want)
}

// The forms of an encoded value: the first byte of its header.
const (
	formValue = 1 + iota
	formNil
	formFailure
)

// headSize is the length of a header without the name.
const headSize = 3

// coder is the record of a type: how its values are encoded.
type coder[T any] struct {
	codec Codec[T]
	name  string // the name of type and codec, as in the header
	// head is the header of a value that is not nil.
	head []byte
	// nilable is true if values of the type can be nil.
	nilable bool
}

// coders maps the reflect.Type of every T in use to its *coder[T].
var coders sync.Map

// Register makes c the codec of T. Only the first registration of a type counts.
func Register[T any](c Codec[T]) {
	t := reflect.TypeFor[T]()
	first, _ := registered.LoadOrStore(t, c)
	// Every call stores the coder, because the call that was first may not have stored it yet.
	coders.Store(t, newCoder(first.(Codec[T]), TypeName(reflect.TypeOf(first))))
}

// registered maps the reflect.Type of every T of Register to its Codec[T].
var registered sync.Map

// Registered returns the codec that was registered for T, or nil.
func Registered[T any]() Codec[T] {
	c, _ := registered.Load(reflect.TypeFor[T]())
	codec, _ := c.(Codec[T])
	return codec
}

// of returns the coder of T. If no codec was registered for T, the coder uses the codec that direct
// returns. If direct returns nil, the coder uses Gob.
func of[T any]() *coder[T] {
	t := reflect.TypeFor[T]()
	if c, ok := coders.Load(t); ok {
		return c.(*coder[T])
	}
	codec, how := direct[T]()
	if codec == nil {
		codec, how = Gob[T]{}, "gob"
	}
	c, _ := coders.LoadOrStore(t, newCoder(codec, how))
	return c.(*coder[T])
}

// newCoder returns a coder of T that uses codec. how is the name of the codec.
func newCoder[T any](codec Codec[T], how string) *coder[T] {
	t := reflect.TypeFor[T]()
	c := &coder[T]{codec: codec, name: TypeName(t) + " (" + how + ")"}
	if len(c.name) > math.MaxUint16 {
		c.name = c.name[:math.MaxUint16]
	}
	c.head = append(binary.LittleEndian.AppendUint16([]byte{formValue}, uint16(len(c.name))), c.name...)
	switch t.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Slice, reflect.Interface:
		c.nilable = true
	default:
	}
	return c
}

// Name returns the name of T and its codec, as in the header and in TypeError.
func Name[T any]() string { return of[T]().name }

// Append appends the encoded value to b. After an error it returns b unchanged. If the codec panics, Append
// returns an error.
func Append[T any](b []byte, v *T) ([]byte, error) {
	c := of[T]()
	return c.append(b, c.head, v)
}

// AppendRest is Append without the name of the type, which the receiver knows from an earlier
// value.
func AppendRest[T any](b []byte, v *T) ([]byte, error) { return of[T]().append(b, restHead, v) }

// restHead is the header of a value that AppendRest appends.
var restHead = []byte{formValue}

// append appends the header (the argument head) and the bytes of the value. For nil it appends only the header,
// with formNil in its first byte.
func (c *coder[T]) append(b, head []byte, v *T) ([]byte, error) {
	n := len(b)
	b = append(b, head...)
	if c.nilable && reflect.ValueOf(v).Elem().IsNil() {
		b[n] = formNil
		return b, nil
	}
	whole, err := c.encode(b, v)
	if err != nil {
		return b[:n], err
	}
	return whole, nil
}

// encode calls the codec to append the bytes of the value to b. A panic becomes an error.
func (c *coder[T]) encode(b []byte, v *T) (whole []byte, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	return c.codec.Append(b, v)
}

// AppendFailure appends a failure in place of a value. The failure contains the text of cause, the
// reason why there is no value.
func AppendFailure(b []byte, cause error) []byte {
	return append(append(b, formFailure, 0, 0), cause.Error()...)
}

// Decode is the inverse of Append. The caller passes a v that points to a zero value. If the codec
// panics, Decode returns an error.
func Decode[T any](b []byte, v *T) error {
	c := of[T]()
	if !bytes.HasPrefix(b, c.head) {
		return c.odd(b)
	}
	return c.decode(b[len(c.head):], v)
}

// DecodeRest is the inverse of AppendRest. The caller passes a v that points to a zero value.
func DecodeRest[T any](b []byte, v *T) error {
	c := of[T]()
	switch {
	case len(b) > 0 && b[0] == formValue:
		return c.decode(b[1:], v)
	case len(b) == 1 && b[0] == formNil && c.nilable:
		return nil
	}
	return fmt.Errorf("%w: invalid header", ErrMalformed)
}

// decode calls the codec to decode b, which has no header. A panic becomes ErrMalformed.
func (c *coder[T]) decode(b []byte, v *T) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: panic: %v", ErrMalformed, r)
		}
	}()
	return c.codec.Decode(b, v)
}

// odd handles bytes that do not begin with the header of a value of the coder's type. The bytes stand
// for nil, a failure or a value of another type, or are malformed. If they stand for nil and T can be
// nil, odd returns no error. Otherwise it returns an error.
func (c *coder[T]) odd(b []byte) error {
	if len(b) < headSize || len(b)-headSize < int(binary.LittleEndian.Uint16(b[1:])) || b[0] < formValue || b[0] > formFailure {
		return fmt.Errorf("%w: invalid header", ErrMalformed)
	}
	if b[0] == formFailure {
		return fmt.Errorf("%w: %s", ErrFailed, b[headSize:])
	}
	n := headSize + int(binary.LittleEndian.Uint16(b[1:]))
	switch name := string(b[headSize:n]); {
	case name != c.name:
		return &TypeError{Sent: name, Want: c.name}
	case !c.nilable || len(b) != n:
		return fmt.Errorf("%w: invalid encoding of nil for type %s", ErrMalformed, c.name)
	}
	return nil
}

// TypeName returns the name of a type. Packages in the name have their import paths, except inside
// structs, functions, channels and interfaces without a name.
func TypeName(t reflect.Type) string {
	if t.Name() != "" {
		if t.PkgPath() != "" {
			return t.PkgPath() + "." + t.Name()
		}
		return t.Name()
	}
	switch t.Kind() {
	case reflect.Pointer:
		return "*" + TypeName(t.Elem())
	case reflect.Slice:
		return "[]" + TypeName(t.Elem())
	case reflect.Array:
		return "[" + strconv.Itoa(t.Len()) + "]" + TypeName(t.Elem())
	case reflect.Map:
		return "map[" + TypeName(t.Key()) + "]" + TypeName(t.Elem())
	default:
		return t.String()
	}
}
