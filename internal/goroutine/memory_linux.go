//go:build !portable

package goroutine

import (
	"encoding/binary"
	"fmt"
	"os"
	"reflect"
	goruntime "runtime"
	"strings"
	"sync/atomic"
)

const (
	// A runtime.p is the structure of Go's scheduler for one of its processors. processorBytes is larger than
	// the size of a runtime.p in bytes. processorsMax is larger than the number of these structures.
	processorBytes = 1 << 16
	processorsMax  = 1 << 20
	// globalsMax bounds the bytes of global variables that are searched for the list of all runtime.p.
	globalsMax = 256 << 20
	// partWords is the number of words of global variables that are read at once.
	partWords = 1 << 16
	// sliceWords is the length of a slice's header in words.
	sliceWords = 3
)

// memory reads this process's own memory.
type memory struct {
	file *os.File
	err  error // the first error; nothing is read after it
}

// fail records the error that the memory does not have the expected contents. It keeps an error that was
// recorded before.
func (m *memory) fail(what string) {
	if m.err == nil {
		m.err = fmt.Errorf("goroutine: %s", what)
	}
}

// words reads n words at an address. If they cannot be read, it returns zeros and sets err.
func (m *memory) words(at uint64, n int) []uint64 {
	list, b := make([]uint64, n), make([]byte, n*word)
	if m.err != nil || n == 0 {
		return list
	}
	if _, m.err = m.file.ReadAt(b, int64(at)); m.err != nil {
		return list
	}
	for i := range list {
		list[i] = binary.NativeEndian.Uint64(b[i*word:])
	}
	return list
}

// heaps returns the addresses of the heaps of timers of all runtime.p. The argument one is the address of one
// of these heaps. heaps computes the other addresses from it, because every runtime.p has its heap at the
// same offset.
func (m *memory) heaps(one uint64) []uint64 {
	all := m.processors(one)
	offset := uint64(processorBytes)
	for _, p := range all {
		offset = min(offset, one-p) // if p is larger than one, the difference is huge, because it is modulo 2^64
	}
	for i := range all {
		all[i] += offset
	}
	return all
}

// allProcessors is the address of runtime.allp, or 0 until it is known.
var allProcessors atomic.Uint64

// processors returns the addresses of all runtime.p. They are the elements of the slice runtime.allp.
// processors searches the global variables for this slice. It recognizes the slice by two facts. The length of
// the slice is GOMAXPROCS, and one element is the address of the runtime.p that contains the given heap.
func (m *memory) processors(heap uint64) []uint64 {
	n := uint64(goruntime.GOMAXPROCS(0))
	if at := allProcessors.Load(); at != 0 {
		if all := m.processorsAt(m.words(at, sliceWords), n, heap); all != nil {
			return all
		}
	}
	begin, end := m.globals()
	for ; begin < end && m.err == nil; begin += (partWords - sliceWords + 1) * word {
		part := m.words(begin, int(min(partWords, (end-begin)/word)))
		for i := range max(0, len(part)-sliceWords+1) {
			if all := m.processorsAt(part[i:i+sliceWords], n, heap); all != nil {
				allProcessors.Store(begin + uint64(i)*word)
				return all
			}
		}
	}
	m.fail("the list of processors was not found")
	return nil
}

// processorsAt returns the elements of a slice if the slice may be runtime.allp. Otherwise it returns nil.
// slice has the three words of the slice's header.
func (m *memory) processorsAt(slice []uint64, n, heap uint64) []uint64 {
	if slice[0] == 0 || slice[1] != n || slice[2] < n || slice[2] > processorsMax {
		return nil
	}
	apart := &memory{file: m.file} // keeps m.err unset if slice[0] is not an address
	all := apart.words(slice[0], int(n))
	for _, p := range all {
		if p != 0 && heap-p < processorBytes {
			return all
		}
	}
	return nil
}

// global is a global variable whose address is known.
var global *memory

// globals returns the range of addresses of the global variables. The range is the writable mapping that
// contains global, with the writable mappings that follow it without a gap.
func (m *memory) globals() (begin, end uint64) {
	text, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		m.err = err
		return 0, 0
	}
	one := uint64(reflect.ValueOf(&global).Pointer())
	for line := range strings.Lines(string(text)) {
		var low, high uint64
		var access string
		_, err := fmt.Sscanf(line, "%x-%x %s", &low, &high, &access)
		switch {
		case err != nil || !strings.HasPrefix(access, "rw"):
		case low == end:
			end = high
		case one >= low:
			begin, end = low, high
		}
	}
	if one < begin || one >= end {
		m.fail("the global variables were not found")
		return 0, 0
	}
	return begin, min(end, begin+globalsMax)
}
