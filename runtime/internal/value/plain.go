package value

import (
	"fmt"
	"reflect"

	"github.com/gorun-hpc/gorun/runtime/internal/layout"
)

// plain is the codec of types without pointers: it sends the memory of the value, with zeroed
// padding.
type plain[T any] struct{ layout *layout.Layout }

// Append implements Codec.
func (p plain[T]) Append(b []byte, v *T) ([]byte, error) {
	n := len(b)
	b = append(b, memory(v)...)
	p.layout.ClearHoles(b[n:])
	return b, nil
}

// Decode implements Codec.
func (plain[T]) Decode(b []byte, v *T) error {
	m := memory(v)
	if len(b) != len(m) {
		return fmt.Errorf("%w: %d bytes, not %d", ErrMalformed, len(b), len(m))
	}
	copy(m, b)
	return nil
}

// row is the codec of slices of elements without pointers: it sends the memory of the elements,
// with zeroed padding.
type row[T any] struct {
	slice  reflect.Type   // the type of the slice
	layout *layout.Layout // the layout of an element, whose size is not 0
}

// Append implements Codec.
func (r row[T]) Append(b []byte, v *T) ([]byte, error) {
	n := len(b)
	b = append(b, elements(v, r.layout.Size)...)
	r.layout.ClearHoles(b[n:])
	return b, nil
}

// Decode implements Codec.
func (r row[T]) Decode(b []byte, v *T) error {
	n := len(b) / r.layout.Size
	if n*r.layout.Size != len(b) {
		return fmt.Errorf("%w: %d bytes are not a whole number of elements of %d bytes", ErrMalformed, len(b), r.layout.Size)
	}
	reflect.ValueOf(v).Elem().Set(reflect.MakeSlice(r.slice, n, n))
	copy(elements(v, r.layout.Size), b)
	return nil
}

// text is the codec of strings: it sends their bytes.
type text[T any] struct{}

// Append implements Codec.
func (text[T]) Append(b []byte, v *T) ([]byte, error) {
	return append(b, reflect.ValueOf(v).Elem().String()...), nil
}

// Decode implements Codec.
func (text[T]) Decode(b []byte, v *T) error {
	reflect.ValueOf(v).Elem().SetString(string(b))
	return nil
}

// direct returns the codec of a type whose values are sent as the bytes of their memory, and a text
// that describes these bytes. For other types it returns nil.
func direct[T any]() (c Codec[T], bytes string) {
	t := reflect.TypeFor[T]()
	if l := layout.Of(t); l.Kind == "" {
		return plain[T]{l}, l.Text()
	}
	switch t.Kind() {
	case reflect.String:
		return text[T]{}, "text"
	case reflect.Slice:
		if l := layout.Of(t.Elem()); l.Kind == "" && l.Size > 0 {
			return row[T]{t, l}, "[]" + l.Text()
		}
	default:
	}
	return nil, ""
}
