package osu

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/gorun-hpc/gorun/runtime"
)

// Element is a type that a benchmark can send.
type Element interface {
	byte | int64 | float32 | float64
}

// Body is a benchmark over elements of one type, run by every rank.
type Body func(w *runtime.World, o *Options) error

// Bodies are the instances of a benchmark, by the names of -type.
type Bodies struct{ Byte, Int64, Float32, Float64 Body }

// Run runs the instance that -type asks for.
func (b Bodies) Run(w *runtime.World, o *Options) error {
	switch o.Type {
	case "int64":
		return b.Int64(w, o)
	case "float32":
		return b.Float32(w, o)
	case "float64":
		return b.Float64(w, o)
	default:
		return b.Byte(w, o)
	}
}

// Count returns how many elements of type T are in size bytes, at least one
// unless size is 0.
func Count[T Element](size int) int {
	width := int(reflect.TypeFor[T]().Size())
	return (size + width - 1) / width
}

// Slice returns n elements, each of which was written once: from the arena when
// the options say so, else from the heap. They stay for the whole run.
func Slice[T Element](w *runtime.World, o *Options, n int) ([]T, error) {
	var slice []T
	if o.Arena {
		buffer, err := runtime.Alloc[T](w, n)
		if err != nil {
			return nil, fmt.Errorf("%d elements from the arena: %w", n, err)
		}
		slice = runtime.View[T](buffer)
	} else {
		slice = make([]T, n)
	}
	for i := range slice {
		slice[i] = T(1)
	}
	return slice, nil
}

// Largest returns the largest of the sizes.
func (o *Options) Largest() int {
	return slices.Max(o.Sizes)
}

// Micros returns a duration in microseconds.
func Micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
