package arena_test

import (
	"errors"
	"testing"
	"unsafe"

	"github.com/gorun-hpc/gorun/transport"
)

// memory is a transport.Arena for tests. If pieces is not nil, memory behaves like the arena of
// ranks in one process: each call of Bytes returns an allocation of its own, and the range of a later
// call must not overlap this allocation.
type memory struct {
	size      int
	whole     []byte // nil if pieces is not nil
	pieces    map[int][]byte
	discarded [][2]int
	refuse    error
}

func whole(size int) *memory { return &memory{size: size, whole: make([]byte, size)} }

func pieces(size int) *memory { return &memory{size: size, pieces: map[int][]byte{}} }

func (m *memory) Size() int { return m.size }

func (m *memory) Bytes(off, n int) ([]byte, error) {
	if m.refuse != nil {
		return nil, m.refuse
	}
	if off < 0 || n < 0 || off+n > m.size {
		return nil, errors.New("out of range")
	}
	if m.whole != nil {
		return m.whole[off : off+n : off+n], nil
	}
	for at, p := range m.pieces {
		if off < at+len(p) && at < off+n {
			return nil, errors.New("crosses pieces")
		}
	}
	m.pieces[off] = make([]byte, n)
	return m.pieces[off], nil
}

func (m *memory) Discard(off, n int) error {
	if m.refuse != nil {
		return m.refuse
	}
	m.discarded = append(m.discarded, [2]int{off, n})
	if m.whole != nil {
		clear(m.whole[off:][:n])
	}
	for at, p := range m.pieces {
		if from, to := max(off, at), min(off+n, at+len(p)); from < to {
			clear(p[from-at : to-at])
		}
	}
	return nil
}

func (m *memory) Key(off int) transport.Key { return transport.Key{Addr: uint64(off), Token: 7} }

func (m *memory) Offset(b []byte) (int, bool) {
	at := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	base := uintptr(unsafe.Pointer(unsafe.SliceData(m.whole)))
	if at < base || at >= base+uintptr(len(m.whole)) {
		return 0, false
	}
	return int(at - base), true
}

// aligned requires that off, the offset of b in the arena, is a multiple of n.
func aligned(t *testing.T, b []byte, off, n int) {
	t.Helper()
	if off%n != 0 {
		t.Fatalf("%d bytes at offset %d: not aligned to %d", len(b), off, n)
	}
}
