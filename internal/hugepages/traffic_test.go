package hugepages_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/internal/hugepages"
)

const (
	block = 2 << 20
	// price is what goes through a block before it is collapsed.
	price = 8 << 20
)

// mapped returns n blocks that begin at the start of one.
func mapped(t *testing.T, n int) []byte {
	t.Helper()
	b, err := unix.Mmap(-1, 0, (n+1)*block, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, unix.Munmap(b)) })
	skip := (block - at(b)%block) % block
	return b[skip:][: n*block : n*block]
}

// recorder is a kernel that collapses, or says why not.
type recorder struct {
	asked  []uintptr
	answer error
}

func (r *recorder) collapse(addr uintptr, _ int) error {
	r.asked = append(r.asked, addr)
	return r.answer
}

func TestBlockIsCollapsedOnceItHasPaid(t *testing.T) {
	var r recorder
	traffic := hugepages.Traffic{Collapse: r.collapse}
	b := mapped(t, 1)
	for range price/(64<<10) - 1 {
		traffic.Note(b[4096:][:64<<10])
	}
	require.Empty(t, r.asked)
	for range 1000 {
		traffic.Note(b[4096:][:64<<10])
	}
	require.Equal(t, []uintptr{at(b)}, r.asked)
}

func TestShortCopiesDoNotCount(t *testing.T) {
	var r recorder
	traffic := hugepages.Traffic{Collapse: r.collapse}
	b := mapped(t, 1)
	for range 2 * price / (8 << 10) {
		traffic.Note(b[:8<<10])
	}
	traffic.Note(nil)
	require.Empty(t, r.asked)
}

// A slice counts for every block by what it has of it.
func TestLongSliceIsSeveralBlocks(t *testing.T) {
	var r recorder
	traffic := hugepages.Traffic{Collapse: r.collapse}
	b := mapped(t, 3)
	for range price / block {
		traffic.Note(b[block/2:][:2*block])
	}
	require.Equal(t, []uintptr{at(b) + block}, r.asked, "the one it has whole")
	for range price / block {
		traffic.Note(b[block/2:][:2*block])
	}
	require.Equal(t, []uintptr{at(b) + block, at(b), at(b) + 2*block}, r.asked)
}

func TestFailureIsTriedAgainForAWhile(t *testing.T) {
	for name, c := range map[string]struct {
		answer error
		tries  int
	}{
		"a peer reads":       {unix.EAGAIN, 5},
		"no memory":          {unix.ENOMEM, 5},
		"not for this range": {unix.EINVAL, 1},
		"not at all":         {errors.ErrUnsupported, 1},
	} {
		t.Run(name, func(t *testing.T) {
			r := recorder{answer: c.answer}
			traffic := hugepages.Traffic{Collapse: r.collapse}
			b := mapped(t, 1)
			for range 64 * price / block {
				traffic.Note(b)
			}
			require.Len(t, r.asked, c.tries)
		})
	}
}

// More blocks than the table has room for are counted anew, not for ever.
func TestManyBlocks(t *testing.T) {
	var r recorder
	traffic := hugepages.Traffic{Collapse: r.collapse}
	b := mapped(t, 1)
	for range price/block - 1 {
		traffic.Note(b)
	}
	const many = 5000
	space, err := unix.Mmap(-1, 0, many*block, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	require.NoError(t, err)
	defer func() { require.NoError(t, unix.Munmap(space)) }()
	for i := range many {
		traffic.Note(space[i*block:][:16<<10])
	}
	traffic.Note(b)
	require.Empty(t, r.asked)
	for range price/block - 1 {
		traffic.Note(b)
	}
	require.Equal(t, []uintptr{at(b)}, r.asked)
}

// Whatever this machine's kernel does, the memory holds what it held.
func TestMemoryIsUnchanged(t *testing.T) {
	var traffic hugepages.Traffic
	b := mapped(t, 2)
	for i := range b {
		b[i] = byte(i * 7 >> 3)
	}
	before := bytes.Clone(b)
	for range 2 * price / block {
		traffic.Note(b)
	}
	require.Equal(t, before, b)
}
