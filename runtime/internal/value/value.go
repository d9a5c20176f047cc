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
	// ErrMalformed refuses bytes that no correct sender makes.
	ErrMalformed = errors.New("malformed value")
	// ErrDepth refuses a value that is nested too deeply.
	ErrDepth = errors.New("value is nested too deeply")
	// ErrFailed is the cause where the sender had no value to send.
	ErrFailed = errors.New("the sender failed")
)

// TypeError refuses a value of another type or codec. Its fields are the names.
type TypeError struct{ Sent, Want string }

// Error implements error.
func (e *TypeError) Error() string {
	return fmt.Sprintf("the sender's type is %s, the receiver's %s", e.Sent, e.Want)
}

// Forms of a value.
const (
	formValue = 1 + iota
	formNil
	formFailure
)

// headSize is the length of a head without the name.
const headSize = 3

// coder is what is known of a type.
type coder[T any] struct {
	codec Codec[T]
	name  string
	// head is that of a value.
	head []byte
	// nilable says that values can be nil.
	nilable bool
}

// coders holds the *coder[T] of every T in use by its reflect.Type.
var coders sync.Map

// Register makes c the codec of T. Only the first registration of a type counts.
func Register[T any](c Codec[T]) {
	t := reflect.TypeFor[T]()
	if _, ok := registered.LoadOrStore(t, c); !ok {
		coders.Store(t, newCoder(c, typeName(reflect.TypeOf(c))))
	}
}

// registered holds the codecs of the program by the type that they are for.
var registered sync.Map

// Registered returns the codec that was registered for T, or nil.
func Registered[T any]() Codec[T] {
	c, _ := registered.Load(reflect.TypeFor[T]())
	codec, _ := c.(Codec[T])
	return codec
}

// of returns the coder of T.
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

// newCoder describes T with a codec; how names the codec.
func newCoder[T any](codec Codec[T], how string) *coder[T] {
	t := reflect.TypeFor[T]()
	c := &coder[T]{codec: codec, name: typeName(t) + " (" + how + ")"}
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

// Name is the name of T and its codec, as errors say it.
func Name[T any]() string { return of[T]().name }

// Append appends a value to b. After an error the result is b.
func Append[T any](b []byte, v *T) ([]byte, error) {
	c := of[T]()
	return c.append(b, c.head, v)
}

// AppendRest is Append without the name of the type: the receiver knows it from an earlier value.
func AppendRest[T any](b []byte, v *T) ([]byte, error) { return of[T]().append(b, restHead, v) }

// restHead is the head of AppendRest.
var restHead = []byte{formValue}

// append appends a value behind a head, whose first byte is the form.
func (c *coder[T]) append(b, head []byte, v *T) ([]byte, error) {
	n := len(b)
	b = append(b, head...)
	if c.nilable && reflect.ValueOf(v).Elem().IsNil() {
		b[n] = formNil
		return b, nil
	}
	whole, err := c.codec.Append(b, v)
	if err != nil {
		return b[:n], err
	}
	return whole, nil
}

// AppendFailure appends, in place of a value, why there is none.
func AppendFailure(b []byte, cause error) []byte {
	return append(append(b, formFailure, 0, 0), cause.Error()...)
}

// Decode is the inverse of Append. v is zero before. A panic of the codec is an error.
func Decode[T any](b []byte, v *T) error {
	c := of[T]()
	if !bytes.HasPrefix(b, c.head) {
		return c.odd(b)
	}
	return c.decode(b[len(c.head):], v)
}

// DecodeRest is the inverse of AppendRest.
func DecodeRest[T any](b []byte, v *T) error {
	c := of[T]()
	switch {
	case len(b) > 0 && b[0] == formValue:
		return c.decode(b[1:], v)
	case len(b) == 1 && b[0] == formNil && c.nilable:
		return nil
	}
	return fmt.Errorf("%w: its head", ErrMalformed)
}

// decode calls the codec.
func (c *coder[T]) decode(b []byte, v *T) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: panic: %v", ErrMalformed, r)
		}
	}()
	return c.codec.Decode(b, v)
}

// odd decodes what is no value of the coder's type.
func (c *coder[T]) odd(b []byte) error {
	if len(b) < headSize || len(b)-headSize < int(binary.LittleEndian.Uint16(b[1:])) || b[0] < formValue || b[0] > formFailure {
		return fmt.Errorf("%w: its head", ErrMalformed)
	}
	if b[0] == formFailure {
		return fmt.Errorf("%w: %s", ErrFailed, b[headSize:])
	}
	n := headSize + int(binary.LittleEndian.Uint16(b[1:]))
	switch name := string(b[headSize:n]); {
	case name != c.name:
		return &TypeError{Sent: name, Want: c.name}
	case !c.nilable || len(b) != n:
		return fmt.Errorf("%w: nil of a type without nil", ErrMalformed)
	}
	return nil
}

// typeName names a type with the paths of its packages.
func typeName(t reflect.Type) string {
	if t.Name() != "" {
		if t.PkgPath() != "" {
			return t.PkgPath() + "." + t.Name()
		}
		return t.Name()
	}
	switch t.Kind() {
	case reflect.Pointer:
		return "*" + typeName(t.Elem())
	case reflect.Slice:
		return "[]" + typeName(t.Elem())
	case reflect.Array:
		return "[" + strconv.Itoa(t.Len()) + "]" + typeName(t.Elem())
	case reflect.Map:
		return "map[" + typeName(t.Key()) + "]" + typeName(t.Elem())
	default:
		return t.String()
	}
}
