package hugepages_test

import (
	"bytes"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/internal/hugepages"
	"github.com/gorun-hpc/gorun/internal/testbed/mapping"
)

// held keeps the slices of a test in the heap.
var held [][]byte

// TestPrepareUsedHeap checks that slices which exist already move to huge pages and keep their contents. It is
// the first test of this file: after the other tests, the memory of these slices would already be in huge pages.
func TestPrepareUsedHeap(t *testing.T) {
	keepHeap(t)
	if err := hugepages.Collapse(at(used(mapped(t, 1))), block); err != nil {
		t.Skip("needs MADV_COLLAPSE (Linux 6.1): ", err)
	}
	more := 0
	for range 3 { // the next slices may be in another chunk than this one
		b := used(make([]byte, 96<<10))
		held = append(held, b)
		contents, before := bytes.Clone(b), pagesOf(t, b)
		if before.Advised {
			t.Skip("needs a new process, because an earlier run of this test has prepared the heap")
		}
		hugepages.PrepareHeap()
		more = max(more, pagesOf(t, b).Huge-before.Huge)
		require.Equal(t, contents, b)
		if more > 0 {
			break
		}
	}
	require.GreaterOrEqual(t, more, block>>10)
}

// TestPreferHeap checks that new slices lie in memory for which huge pages were requested.
func TestPreferHeap(t *testing.T) {
	keepHeap(t)
	for name, f := range map[string]func(){"PreferHeap": hugepages.PreferHeap, "PrepareHeap": hugepages.PrepareHeap} {
		for _, length := range []int{64 << 10, 512 << 10} {
			next := func() bool {
				b := make([]byte, length)
				held = append(held, b)
				return pagesOf(t, b).Advised
			}
			for next() { // fills the chunks of earlier calls
			}
			advised := false
			for range 3 { // if the chunk is full, the slice is in a new chunk
				f()
				advised = advised || next()
			}
			require.True(t, advised, "%s, %d bytes", name, length)
		}
	}
}

// keepHeap switches the garbage collector off, so that the heap has no new gaps during the test. It skips the test
// if the kernel has no huge pages.
func keepHeap(t *testing.T) {
	t.Helper()
	if err := mapping.HugePages(); err != nil {
		t.Skip(err)
	}
	percent := debug.SetGCPercent(-1)
	t.Cleanup(func() {
		held = nil
		debug.SetGCPercent(percent)
	})
}

// used fills b.
func used(b []byte) []byte {
	for i := range b {
		b[i] = byte(i * 7 >> 3)
	}
	return b
}

// pagesOf returns the pages of the mapping around b.
func pagesOf(t *testing.T, b []byte) mapping.Pages {
	t.Helper()
	pages, err := mapping.Of(at(b))
	require.NoError(t, err)
	return pages
}
