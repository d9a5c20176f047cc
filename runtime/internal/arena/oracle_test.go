package arena_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime/internal/arena"
)

// model carries out operations on an arena, and compares the results with a list of leases and their holders.
type model struct {
	t      *testing.T
	a      *arena.Arena
	leases []*entry
	stamp  uint64
}

type entry struct {
	l      arena.Lease
	given  arena.Lease // the result of Give
	good   bool        // l is valid: the lease was not given away
	flight bool
	stamp  uint64
	holder int // -1 for none
}

const self = 0

func (m *model) alloc(n int) {
	l, err := m.a.Alloc(n)
	if err != nil {
		require.ErrorIs(m.t, err, arena.ErrFull)
		return
	}
	require.Len(m.t, l.Bytes, n)
	aligned(m.t, l.Bytes, l.Off, 64)
	for _, e := range m.leases {
		disjoint := l.Off+n <= e.l.Off || e.l.Off+len(e.l.Bytes) <= l.Off
		require.True(m.t, disjoint, "%d at %d overlaps %d at %d", n, l.Off, len(e.l.Bytes), e.l.Off)
	}
	m.stamp++
	e := &entry{l: l, good: true, stamp: m.stamp, holder: self}
	e.write()
	m.leases = append(m.leases, e)
}

// write writes the stamp at both ends and in the middle of the lease. check compares the bytes at these
// places with the stamp.
func (e *entry) write() {
	for _, at := range e.places() {
		binary.LittleEndian.PutUint64(e.l.Bytes[at:], e.stamp)
	}
}

func (e *entry) check(t *testing.T) {
	t.Helper()
	for _, at := range e.places() {
		require.Equal(t, e.stamp, binary.LittleEndian.Uint64(e.l.Bytes[at:]), "someone wrote at %d", e.l.Off+at)
	}
}

func (e *entry) places() []int {
	n := len(e.l.Bytes)
	switch {
	case n < 8:
		return nil
	case n < 24:
		return []int{0} // three stamps would overlap
	}
	return []int{0, (n - 8) / 2, n - 8}
}

// drop ends the hold of a rank on a lease in the model. It returns false if the lease was not handed over to
// the rank.
func (m *model) drop(e *entry, rank int) bool {
	if e.holder != rank || e.good {
		return false
	}
	e.holder = -1
	m.settle(e)
	return true
}

func (m *model) settle(e *entry) {
	if e.holder == -1 && !e.flight {
		m.leases = slices.DeleteFunc(m.leases, func(o *entry) bool { return o == e })
	}
}

// step does one operation, chosen by three numbers.
func (m *model) step(op, which byte, arg int) {
	if op%8 < 3 || len(m.leases) == 0 {
		m.alloc(arg)
		return
	}
	e := m.leases[int(which)%len(m.leases)]
	rank := arg & 3
	e.check(m.t)
	owned := e.holder == self && e.good
	switch op % 8 {
	case 3:
		require.Equal(m.t, owned, m.a.Free(e.l) == nil)
		if owned {
			e.holder = -1
			m.settle(e)
		}
	case 4:
		given, err := m.a.Give(e.l, rank)
		require.Equal(m.t, owned, err == nil)
		if err == nil {
			e.holder, e.given, e.good, e.flight = rank, given, false, true
		}
	case 5, 6:
		off := uint64(e.l.Off)
		require.Equal(m.t, m.drop(e, rank), m.a.Return(off, rank) == nil)
	case 7:
		m.odd(e, rank, arg>>2)
	}
}

// odd does the rarer operations.
func (m *model) odd(e *entry, rank, arg int) {
	switch arg % 3 {
	case 0:
		for _, e := range m.leases {
			e.check(m.t)
		}
		leases, _ := m.a.TakeBack(rank)
		want := 0
		for _, e := range slices.Clone(m.leases) {
			if rank != self && m.drop(e, rank) {
				want++
			}
		}
		require.Equal(m.t, want, leases)
	case 1:
		if arg&16 == 0 {
			require.Equal(m.t, e.flight, m.a.Confirm(e.given, false) == nil)
			e.flight = false
			m.settle(e)
			return
		}
		back, err := m.a.Regain(e.given)
		require.Equal(m.t, e.flight, err == nil)
		if e.flight {
			e.l, e.holder, e.good, e.flight = back, self, true, false
		}
	case 2:
		require.Equal(m.t, len(m.leases), m.a.Stats().Leases())
	}
}

// finish ends every lease and checks that size bytes can be allocated again.
func (m *model) finish(size int) {
	for _, e := range slices.Clone(m.leases) {
		switch {
		case e.good:
			require.NoError(m.t, m.a.Free(e.l))
		case e.holder >= 0:
			require.NoError(m.t, m.a.Return(uint64(e.l.Off), e.holder))
		}
		if e.flight {
			require.NoError(m.t, m.a.Confirm(e.given, false))
		}
	}
	require.Zero(m.t, m.a.Stats().Leases())
	require.Zero(m.t, m.a.Stats().Bytes)
	_, err := m.a.Alloc(size)
	require.NoError(m.t, err, "pages were lost")
}

// sizeOf maps a number to a size below 300, below LargeMin or below 600 KiB.
func sizeOf(n uint32) int {
	switch n % 4 {
	case 0:
		return int(n>>2) % 300
	case 1:
		return int(n>>2) % arena.LargeMin
	default:
		return int(n>>2) % (600 << 10)
	}
}

// few returns n, or a fifth of n with -short.
func few(n int) int {
	if testing.Short() {
		return n / 5
	}
	return n
}

func TestArenaAgainstModel(t *testing.T) {
	const size = 8 << 20
	for seed := range uint64(few(30)) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 1))
			cfg := arena.Config{Keep: 1 << (12 + seed), Contiguous: seed%2 == 0}
			mem, most := pieces(size), size/4
			if cfg.Contiguous {
				mem, most = whole(size), size
			}
			m := &model{t: t, a: arena.New(mem, cfg)}
			for range 1500 {
				m.step(byte(rng.Uint32()), byte(rng.Uint32()), sizeOf(rng.Uint32()))
			}
			m.finish(most)
		})
	}
}

func FuzzArena(f *testing.F) {
	f.Add([]byte{0, 0, 1, 1, 0, 0, 4, 0, 1, 6, 0, 1})
	f.Add([]byte{0, 0, 255, 255, 255, 255, 5, 0, 2, 0, 3, 0, 0, 0, 7, 0, 2, 0})
	f.Fuzz(func(t *testing.T, ops []byte) {
		const size = 4 << 20
		m := &model{t: t, a: arena.New(whole(size), arena.Config{Keep: 64 << 10, Contiguous: true})}
		for ; len(ops) >= 6; ops = ops[6:] {
			m.step(ops[0], ops[1], sizeOf(binary.LittleEndian.Uint32(ops[2:])))
		}
		m.finish(size)
	})
}

// TestArenaFromManyGoroutines tests the arena's mutex. If two goroutines got the same memory, both
// would write it, and the race detector would report this.
func TestArenaFromManyGoroutines(t *testing.T) {
	a := arena.New(whole(64<<20), arena.Config{Keep: 1 << 20})
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(g), 2))
			for range few(500) {
				l, err := a.Alloc(sizeOf(rng.Uint32()))
				if err != nil {
					t.Error(err)
					return
				}
				for i := range l.Bytes {
					l.Bytes[i] = byte(g)
				}
				_ = a.Stats()
				if rng.IntN(2) == 0 {
					err = a.Free(l)
				} else if given, bad := a.Give(l, g+1); bad == nil {
					err = errors.Join(a.Return(uint64(l.Off), g+1), a.Confirm(given, false))
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	require.Zero(t, a.Stats().Leases())
}
