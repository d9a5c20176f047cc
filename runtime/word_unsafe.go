package runtime

import (
	"sync/atomic"
	"unsafe"

	"github.com/gorun-hpc/gorun/internal/processor"
)

// Word is a 64-bit word in memory that ranks share. Its exported methods are atomic and
// sequentially consistent: a rank that sees a change of a word also sees everything
// that the changing rank wrote before.
type Word struct{ v atomic.Uint64 }

// Load returns the value of the word.
func (w *Word) Load() uint64 { return w.v.Load() }

// Store sets the word to v. It does not wake a sleeping rank: see Shared.Signal.
func (w *Word) Store(v uint64) { w.v.Store(v) }

// publish is Store with release semantics only: no memory barrier follows the store.
func (w *Word) publish(v uint64) { processor.Store64((*uint64)(unsafe.Pointer(w)), v) }

// Add adds d to the word and returns the new value. It does not wake a sleeping rank: see Shared.SignalAdd.
func (w *Word) Add(d uint64) uint64 { return w.v.Add(d) }

// wordBytes is the size and the alignment of a Word.
const wordBytes = int(unsafe.Sizeof(Word{}))

// wordAt returns the word at byte off of b. It panics if b is too short or the word is not aligned.
func wordAt(b []byte, off int) *Word {
	b = b[off : off+wordBytes]
	if uintptr(unsafe.Pointer(unsafe.SliceData(b)))%uintptr(wordBytes) != 0 {
		panic("runtime: a Word must be aligned to 8 bytes")
	}
	return (*Word)(unsafe.Pointer(unsafe.SliceData(b)))
}
