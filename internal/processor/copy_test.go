package processor_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/internal/processor"
)

const kib, mib = 1 << 10, 1 << 20

// noise returns n random bytes.
func noise(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(b) // never fails
	return b
}

// TestCopyCached compares CopyCached with the builtin copy.
func TestCopyCached(t *testing.T) {
	src := noise(2*mib + 100)
	for _, n := range []int{0, 1, 512*kib - 1, 512 * kib, 512*kib + 1, mib, 3*mib/2 + 7, 2 * mib} {
		for _, longer := range []int{0, 50} { // of one of the two slices
			dst, want := make([]byte, n+60), make([]byte, n+60)
			copy(want, src[:n])
			require.Equal(t, n, processor.CopyCached(dst[:n+longer], src[:n]))
			require.True(t, bytes.Equal(want, dst), "%d bytes", n)
			clear(dst)
			require.Equal(t, n, processor.CopyCached(dst[:n], src[:n+longer]))
			require.True(t, bytes.Equal(want, dst), "%d bytes", n)
		}
	}
}

func BenchmarkCopy(b *testing.B) {
	for _, n := range []int{mib, 2 * mib, 4 * mib, 8 * mib} {
		for name, copies := range map[string]func(dst, src []byte) int{
			"cached":  processor.CopyCached,
			"builtin": func(dst, src []byte) int { return copy(dst, src) },
		} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				dst, src := make([]byte, n), noise(n)
				b.SetBytes(int64(n))
				for b.Loop() {
					copies(dst, src)
				}
			})
		}
	}
}
