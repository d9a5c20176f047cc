package messagetest

import (
	"sync"

	"github.com/gorun-hpc/gorun/collectives/internal/kernel"
	"github.com/gorun-hpc/gorun/collectives/internal/message"
)

// Elem is the size in bytes of the elements.
const Elem = 8

// Operator is the operator of a reduction.
type Operator uint8

const (
	// Sum adds integers. The result is the same for every order and every grouping of the operands.
	Sum Operator = iota
	// Compose composes affine maps modulo 2^32. The result depends on the order of the operands, but
	// not on their grouping.
	Compose
	// FloatSum adds floats of different magnitudes. Only the order and grouping of a loop over the
	// ranks gives the expected bits.
	FloatSum
)

// String returns the name of the operator.
func (o Operator) String() string { return [...]string{"sum", "compose", "sum of floats"}[o] }

// Reduction returns the operator as a message.Reduction.
func (o Operator) Reduction() message.Reduction {
	switch o {
	case Compose:
		return message.Reduction{Fn: compose, Elem: Elem}
	case FloatSum:
		return message.Reduction{Fn: kernel.Of(kernel.Sum, kernel.Float64), Elem: Elem, Commutative: true}
	default:
		return message.Reduction{Fn: kernel.Of(kernel.Sum, kernel.Uint64), Elem: Elem, Commutative: true}
	}
}

// affine is the map x -> A*x + B modulo 2^32.
type affine struct{ A, B uint32 }

func compose(dst, a, b []byte) {
	d, f, g := kernel.View[affine](dst), kernel.View[affine](a), kernel.View[affine](b)
	for i := range d {
		d[i] = affine{f[i].A * g[i].A, f[i].A*g[i].B + f[i].B}
	}
}

// data returns n bytes of elements for a source, which is the number of a rank or block. Integers are
// different for all sources and positions.
func (k Case) data(source, n int) []byte {
	if k.Operation.Reduces() && k.Operator == FloatSum {
		v := make([]float64, n/Elem)
		for i := range v {
			v[i] = 1 / float64(3*i+source+1)
			if (source+i)%3 == 0 {
				v[i] *= 1e16
			}
		}
		return kernel.Bytes(v)
	}
	v := make([]uint64, n/Elem)
	for i := range v {
		v[i] = uint64(source*1_000_003+i*7919)*2654435761 | 1
	}
	return kernel.Bytes(v)
}

// poison is the value of all bytes of a buffer before an operation writes to it.
const poison = 0xee

func poisoned(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = poison
	}
	return b
}

// folds caches the results of the method combined, because many ranks need the same results.
var folds sync.Map

// combined returns the reduction of the n bytes of data of each of the ranks 0 to ranks-1, combined from
// left to right. The caller must not change the result.
func (k Case) combined(ranks, n int) []byte {
	key := [3]int{int(k.Operator), ranks, n}
	if known, ok := folds.Load(key); ok {
		return known.([]byte)
	}
	acc, r := k.data(0, n), k.Operator.Reduction()
	for q := 1; q < ranks; q++ {
		r.Fn(acc, acc, k.data(q, n))
	}
	folds.Store(key, acc)
	return acc
}
