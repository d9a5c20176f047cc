package hugepages_test

import (
	"bytes"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/internal/hugepages"
)

const (
	block = 2 << 20
	// price is how many bytes are copied from or to a block before the block is collapsed.
	price = 64 << 20
)

// mapped returns memory of n blocks. The memory begins at a multiple of the block size.
func mapped(t *testing.T, n int) []byte {
	t.Helper()
	b, err := unix.Mmap(-1, 0, (n+1)*block, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, unix.Munmap(b)) })
	skip := (block - at(b)%block) % block
	return b[skip:][: n*block : n*block]
}

// recorder stands for the kernel: its collapse records the address, takes some time, and returns
// an error or nil. A collapse of 0 bytes fails if the kernel is old.
type recorder struct {
	asked  []uintptr
	answer error
	takes  time.Duration
	old    bool
}

func (r *recorder) collapse(addr uintptr, n int) error {
	if n > 0 {
		r.asked = append(r.asked, addr)
		time.Sleep(r.takes)
	}
	switch {
	case r.old:
		return unix.EINVAL
	case n == 0:
		return nil
	}
	return r.answer
}

// bubble runs a test with a virtual clock. It passes a function to the test. This function notes a copy, sleeps
// for a second, and then waits for the goroutines that the copy has started.
func bubble(t *testing.T, r *recorder, run func(note func(b []byte))) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		traffic := hugepages.Traffic{Collapse: r.collapse}
		run(func(b []byte) {
			traffic.Note(b)
			time.Sleep(time.Second)
			synctest.Wait()
		})
	})
}

func TestBlockIsCollapsedOnceItHasPaid(t *testing.T) {
	var r recorder
	b := mapped(t, 1)
	bubble(t, &r, func(note func([]byte)) {
		for range price/(64<<10) - 1 {
			note(b[4096:][:64<<10])
		}
		require.Empty(t, r.asked)
		for range 1000 {
			note(b[4096:][:64<<10])
		}
		require.Equal(t, []uintptr{at(b)}, r.asked)
	})
}

// TestCollapsesTakeAShareOfTheTime checks that slow collapses do not delay callers, and that they
// are made one at a time with pauses between them.
func TestCollapsesTakeAShareOfTheTime(t *testing.T) {
	const (
		blocks = 8
		takes  = 5 * time.Millisecond
	)
	r := recorder{takes: takes}
	b := mapped(t, blocks)
	synctest.Test(t, func(t *testing.T) {
		traffic := hugepages.Traffic{Collapse: r.collapse}
		start := time.Now()
		for range price / block {
			traffic.Note(b)
		}
		require.Zero(t, time.Since(start), "a caller waits")
		synctest.Wait()
		for len(r.asked) < blocks {
			traffic.Note(b)
			time.Sleep(100 * time.Microsecond)
			synctest.Wait()
		}
		require.GreaterOrEqual(t, time.Since(start), (blocks-1)*20*takes)
		require.Less(t, time.Since(start), blocks*21*takes)
		time.Sleep(time.Second)
		traffic.Note(b)
		time.Sleep(time.Second)
		synctest.Wait()
		require.Len(t, r.asked, blocks, "each of them once")
	})
}

func TestShortCopiesDoNotCount(t *testing.T) {
	var r recorder
	b := mapped(t, 1)
	bubble(t, &r, func(note func([]byte)) {
		for range 2 * price / (8 << 10) {
			note(b[:8<<10])
		}
		note(nil)
		require.Empty(t, r.asked)
	})
}

// TestLongSliceIsSeveralBlocks checks that each block counts the bytes of a slice that lie in
// this block.
func TestLongSliceIsSeveralBlocks(t *testing.T) {
	var r recorder
	b := mapped(t, 3)
	bubble(t, &r, func(note func([]byte)) {
		for range price / block {
			note(b[block/2:][:2*block])
		}
		require.Equal(t, []uintptr{at(b) + block}, r.asked, "the one it has whole")
		for range price/block + 1 {
			note(b[block/2:][:2*block])
		}
		require.Equal(t, []uintptr{at(b) + block, at(b), at(b) + 2*block}, r.asked)
	})
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
			b := mapped(t, 1)
			bubble(t, &r, func(note func([]byte)) {
				for range 64 * price / block {
					note(b)
				}
				require.Len(t, r.asked, c.tries)
			})
		})
	}
}

// TestOldKernelIsNotAskedForBlocks checks that no collapse of a block is tried if the kernel cannot collapse
// memory at all.
func TestOldKernelIsNotAskedForBlocks(t *testing.T) {
	const blocks = 3
	r := recorder{old: true}
	b := mapped(t, blocks)
	bubble(t, &r, func(note func([]byte)) {
		for range 2 * price / block {
			note(b)
		}
		require.Empty(t, r.asked)
	})
}

// TestManyBlocks copies from more blocks than the table has room for. The counts of a dropped
// block must start from zero, so that blocks do not add up bytes forever.
func TestManyBlocks(t *testing.T) {
	const many = 5000
	var r recorder
	b := mapped(t, 1)
	space, err := unix.Mmap(-1, 0, many*block, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	require.NoError(t, err)
	defer func() { require.NoError(t, unix.Munmap(space)) }()
	bubble(t, &r, func(note func([]byte)) {
		for range price/block - 1 {
			note(b)
		}
		for i := range many {
			note(space[i*block:][:16<<10])
		}
		note(b)
		require.Empty(t, r.asked)
		for range price/block - 1 {
			note(b)
		}
		require.Equal(t, []uintptr{at(b)}, r.asked)
	})
}

// TestMemoryIsUnchanged checks that the memory keeps its contents, whether or not this machine's
// kernel collapses blocks.
func TestMemoryIsUnchanged(t *testing.T) {
	const blocks = 2
	b := mapped(t, blocks)
	for i := range b {
		b[i] = byte(i * 7 >> 3)
	}
	before := bytes.Clone(b)
	ended := make(chan error, 1)
	for i := range blocks {
		traffic := hugepages.Traffic{Collapse: func(addr uintptr, n int) error {
			if n == 0 {
				return nil // so that a collapse is tried on every kernel
			}
			err := hugepages.Collapse(addr, n)
			ended <- err
			return err
		}}
		for range price / block {
			traffic.Note(b[i*block:][:block])
		}
		if err := <-ended; err != nil {
			t.Logf("collapse: %v", err)
		}
	}
	require.Equal(t, before, b)
}
