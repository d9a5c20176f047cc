package codec

import (
	"fmt"
	"reflect"

	"github.com/gorun-hpc/gorun/runtime/internal/layout"
	"github.com/gorun-hpc/gorun/runtime/internal/value"
)

// Codec is runtime.Codec.
type Codec[T any] = value.Codec[T]

// ErrDepth is the error for a message that contains itself or is nested too deeply.
var ErrDepth = value.ErrDepth

func init() {
	types.byType.Store(reflect.TypeFor[[]byte](), Bytes)
	types.byType.Store(reflect.TypeFor[string](), String)
	Register[bool]()
	Register[int]()
	Register[int8]()
	Register[int16]()
	Register[int32]()
	Register[int64]()
	Register[uint]()
	Register[uint8]()
	Register[uint16]()
	Register[uint32]()
	Register[uint64]()
	Register[float32]()
	Register[float64]()
	Register[complex64]()
	Register[complex128]()
}

// Register registers T and *T. If package value has a registered codec for T, this codec encodes
// their values. Otherwise the values are sent as their bytes if T has no pointers, and encoded by gob
// if T has pointers. Later registrations of the same type have no effect. Register panics if T is an
// interface, if there are too many types, or if another type has the same name.
func Register[T any]() {
	if c := value.Registered[T](); c != nil {
		RegisterCodec(c)
		return
	}
	if l := layout.Of(reflect.TypeFor[T]()); l.Kind == "" {
		registerPlain[T](l)
		return
	}
	RegisterCodec[T](value.Gob[T]{})
}

// RegisterCodec registers T and *T like Register, but with a given codec.
func RegisterCodec[T any](c Codec[T]) {
	register[T](&Type{
		Append: func(b []byte, m any) ([]byte, error) { v := m.(T); return c.Append(b, &v) },
		Decode: func(b []byte) (any, error) {
			var v T
			err := Contained(func() error { return c.Decode(b, &v) })
			return v, err
		},
	}, &Type{
		Append: func(b []byte, m any) ([]byte, error) {
			v := m.(*T)
			if v == nil {
				return b, errNil // because many codecs do not check for nil, and gob panics
			}
			return c.Append(b, v)
		},
		Decode: func(b []byte) (any, error) {
			v := new(T)
			err := Contained(func() error { return c.Decode(b, v) })
			return v, err
		},
	})
}

// register names and adds the Types of T (plain) and *T (pointer).
func register[T any](plain, pointer *Type) {
	t := reflect.TypeFor[T]()
	if t.Kind() == reflect.Interface {
		panic(fmt.Sprintf("actors: %v is an interface: register the types of the messages", t))
	}
	plain.Name = value.TypeName(t)
	pointer.Name = "*" + plain.Name
	if add(t, plain, false) == nil || add(reflect.PointerTo(t), pointer, false) == nil {
		panic(fmt.Sprintf("actors: more than %d types", TypesMax))
	}
}

// Contained calls fn, which handles data of a peer or runs code of the program. If fn panics,
// Contained returns the panic as an error, because a panic outside of an actor would end the rank.
func Contained(fn func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	return fn()
}
