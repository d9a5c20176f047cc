package mpa_test

import (
	"hash/crc32"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/mpa"
)

// TestChecksumIsThatOfTheStandardLibrary compares the checksum with the result of package hash/crc32. The cases
// are every alignment, data in pieces, and lengths near the limits at which the implementation changes its
// method.
func TestChecksumIsThatOfTheStandardLibrary(t *testing.T) {
	table := crc32.MakeTable(crc32.Castagnoli)
	r := rand.New(rand.NewPCG(1, 2))
	b := make([]byte, 200<<10)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	check := func(at, n int) {
		start := r.Uint32()
		p := b[at : at+n]
		if want, got := crc32.Update(start, table, p), mpa.Checksum(start, p); want != got {
			t.Fatalf("%d bytes at %d: %#x, want %#x", n, at, got, want)
		}
	}
	for n := range 2600 {
		check(n%67, n)
	}
	for at := range 64 {
		check(at, 1024+at)
		check(at, 64<<10)
		check(at, 64<<10+256)
		check(at, 128<<10-1+at)
	}
	for range 200 {
		n := r.IntN(150 << 10)
		check(r.IntN(len(b)-n), n)
	}
	sum, want := uint32(0), crc32.Checksum(b, table)
	for rest := b; len(rest) > 0; {
		n := min(1+r.IntN(5000), len(rest))
		sum, rest = mpa.Checksum(sum, rest[:n]), rest[n:]
	}
	require.Equal(t, want, sum)
}

// TestChecksumSeesEveryBit inverts each bit of a block of 1100 bytes, and checks that the checksum changes.
func TestChecksumSeesEveryBit(t *testing.T) {
	b := make([]byte, 1100)
	whole := mpa.Checksum(0, b)
	for i := range 8 * len(b) {
		b[i/8] ^= 1 << (i % 8)
		require.NotEqual(t, whole, mpa.Checksum(0, b), "bit %d", i)
		b[i/8] ^= 1 << (i % 8)
	}
}

func BenchmarkChecksum(b *testing.B) {
	for name, n := range map[string]int{"1K": 1 << 10, "8K": 8 << 10, "64K": 64 << 10} {
		b.Run(name, func(b *testing.B) {
			p := make([]byte, n)
			b.SetBytes(int64(n))
			sum := uint32(0)
			for b.Loop() {
				sum = mpa.Checksum(sum, p)
			}
		})
	}
}
