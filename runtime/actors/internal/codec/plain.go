package codec

import (
	"fmt"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/gorun-hpc/gorun/runtime/internal/layout"
)

// Values of a small type T that are received as *T are allocated together, in blocks of at most slabBytes
// bytes. A reference to one of the values keeps the whole block in memory.
const slabBytes = 512

// registerPlain does the work of Register for a type without pointers, whose values are sent as their
// bytes.
func registerPlain[T any](l *layout.Layout) {
	text := l.Text()
	size := l.Size
	_, batch := any((*T)(nil)).(actor.MessageBatch)
	plain := Type{Layout: text, Copied: !batch, Size: size}
	plain.Append = func(b []byte, m any) ([]byte, error) {
		v := bytesIn(m, size)
		if v == nil {
			return b, errNil
		}
		at := len(b)
		b = append(b, v...)
		l.ClearHoles(b[at:])
		return b, nil
	}
	if l.Plain() {
		plain.View = func(m any) []byte { return bytesIn(m, size) }
	}
	value, pointer := plain, plain
	value.Decode = func(b []byte) (any, error) {
		var v T
		err := set(&v, b)
		return v, err
	}
	pointer.Decode = func(b []byte) (any, error) {
		v := new(T)
		return v, set(v, b)
	}
	if size > 0 && size <= slabBytes/2 && !batch {
		pointer.slab = func() func(b []byte) (any, error) {
			var free []T
			return func(b []byte) (any, error) {
				if len(free) == 0 {
					free = make([]T, slabBytes/size)
				}
				v := &free[0]
				free = free[1:]
				return v, set(v, b)
			}
		}
	}
	register[T](&value, &pointer)
}

// set sets v to the value in b.
func set[T any](v *T, b []byte) error {
	if to := bytesOf(v); copy(to, b) != len(to) || len(b) != len(to) {
		return fmt.Errorf("%w: %d bytes for a value of %d bytes", ErrMalformed, len(b), len(to))
	}
	return nil
}
