package runtime

import (
	"sync/atomic"
	"unsafe"

	"github.com/gorun-hpc/gorun/internal/processor"
)

// Word is a 64-bit word in memory that ranks share. Its methods are atomic and
// sequentially consistent: what a rank wrote before it changed a word is seen by
// every rank that has seen the change.
type Word struct{ v atomic.Uint64 }

// Load returns the word.
func (w *Word) Load() uint64 { return w.v.Load() }

// Store changes the word. It wakes no sleeping rank: see Shared.Signal.
func (w *Word) Store(v uint64) { w.v.Store(v) }

// publish is Store without a fence behind it.
func (w *Word) publish(v uint64) { processor.Store64((*uint64)(unsafe.Pointer(w)), v) }

// Add adds d and returns the new value. It wakes no sleeping rank: see Shared.SignalAdd.
func (w *Word) Add(d uint64) uint64 { return w.v.Add(d) }

// wordBytes is the size and the alignment of a Word.
const wordBytes = int(unsafe.Sizeof(Word{}))

// wordAt returns the word at off of b, where there must be one.
func wordAt(b []byte, off int) *Word {
	b = b[off : off+wordBytes]
	if uintptr(unsafe.Pointer(unsafe.SliceData(b)))%uintptr(wordBytes) != 0 {
		panic("runtime: a Word must be aligned to 8 bytes")
	}
	return (*Word)(unsafe.Pointer(unsafe.SliceData(b)))
}
