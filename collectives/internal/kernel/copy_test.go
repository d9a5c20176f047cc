package kernel_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/collectives/internal/kernel"
)

const mib = 1 << 20

// noise returns n random bytes, the same in every call.
func noise(n int) []byte {
	b := make([]byte, n)
	source := rand.NewChaCha8([32]byte{1})
	_, _ = source.Read(b) // never fails
	return b
}

// TestCopy compares Copy with the builtin copy, for lengths around those above which Copy copies in another way.
func TestCopy(t *testing.T) {
	src := noise(2*mib + 100)
	for _, n := range []int{0, 1, 4096, mib - 1, mib, mib + 1, 3*mib/2 + 7, 2*mib - 1, 2 * mib, 2*mib + 1} {
		for _, longer := range []int{0, 50} { // of one of the two slices
			dst, want := make([]byte, n+60), make([]byte, n+60)
			copy(want, src[:n])
			require.Equal(t, n, kernel.Copy(dst[:n+longer], src[:n]))
			require.True(t, bytes.Equal(want, dst), "%d bytes", n)
			clear(dst)
			require.Equal(t, n, kernel.Copy(dst[:n], src[:n+longer]))
			require.True(t, bytes.Equal(want, dst), "%d bytes", n)
		}
	}
}

// TestCopyOfOverlappingMemory checks that Copy moves bytes up and down by less than their length.
func TestCopyOfOverlappingMemory(t *testing.T) {
	for _, n := range []int{100, mib + 9, 2 * mib} {
		for _, by := range []int{-n / 2, -17, 0, 17, n / 2} {
			b := noise(2 * n)
			want := bytes.Clone(b)
			copy(want[n/2+by:][:n], b[n/2:][:n])
			require.Equal(t, n, kernel.Copy(b[n/2+by:][:n], b[n/2:][:n]))
			require.True(t, bytes.Equal(want, b), "%d bytes by %d", n, by)
		}
	}
}
