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

// Body is a benchmark over elements of one type. Every rank runs it.
type Body func(w *runtime.World, o *Options) error

// Bodies contains the instance of a benchmark for each value of -type.
type Bodies struct{ Byte, Int64, Float32, Float64 Body }

// Run runs the instance for the value of -type.
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

// Count returns the number of elements of type T in size bytes. Parse has rounded the sizes up to whole elements.
func Count[T Element](size int) int {
	return size / int(reflect.TypeFor[T]().Size())
}

// Slice returns n elements from the arena if o.Arena is true, otherwise from the heap. Slice writes each
// element once, so that the memory is faulted in. The slice is valid until the job ends.
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

// Slices returns two results of Slice, each for the largest message size of the options.
func Slices[T Element](w *runtime.World, o *Options) (a, b []T, err error) {
	if a, err = Slice[T](w, o, Count[T](o.Largest())); err == nil {
		b, err = Slice[T](w, o, len(a))
	}
	return a, b, err
}

// Largest returns the largest message size of the options.
func (o *Options) Largest() int {
	return slices.Max(o.Sizes)
}

// Micros converts a duration to microseconds.
func Micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
