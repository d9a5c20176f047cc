package codec

import (
	"fmt"
	"reflect"

	"github.com/gorun-hpc/gorun/runtime/internal/layout"
	"github.com/gorun-hpc/gorun/runtime/internal/value"
)

// Codec is runtime.Codec.
type Codec[T any] = value.Codec[T]

// ErrDepth refuses a message that contains itself.
var ErrDepth = value.ErrDepth

func init() {
	types.byType.Store(reflect.TypeFor[[]byte](), Bytes)
	types.byType.Store(reflect.TypeFor[string](), String)
	Register[bool]()
	Register[int]()
	Register[int32]()
	Register[int64]()
	Register[uint]()
	Register[uint32]()
	Register[uint64]()
	Register[float32]()
	Register[float64]()
}

// Register registers T and *T. They are sent by the codec that package value has for T, or else as
// their bytes if T has no pointers, else by gob. Later
// registrations of the same type have no effect. It panics if there are too many types.
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

// RegisterCodec is Register with a codec of the program.
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
				return b, errNil // many codecs do not check, and gob panics
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

// register registers T and *T.
func register[T any](plain, pointer *Type) {
	t := reflect.TypeFor[T]()
	plain.Name = t.PkgPath() + "." + t.String()
	pointer.Name = "*" + plain.Name
	if add(t, plain) == nil || add(reflect.PointerTo(t), pointer) == nil {
		panic(fmt.Sprintf("actors: more than %d types", TypesMax))
	}
}

// Contained calls fn, which handles data of a peer, and returns a panic of it as an error. Outside of
// an actor a panic would end the rank.
func Contained(fn func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	return fn()
}
