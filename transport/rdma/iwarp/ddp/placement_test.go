package ddp_test

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/ddp"
)

// bounds does the same as Bounds, in arithmetic that cannot overflow.
func bounds(base uint64, length int, to uint64, n int) (int, error) {
	big64 := func(u uint64) *big.Int { return new(big.Int).SetUint64(u) }
	end := new(big.Int).Add(big64(to), big.NewInt(int64(n)))
	if end.Cmp(new(big.Int).Lsh(big.NewInt(1), 64)) > 0 {
		return 0, ddp.ErrWrap
	}
	limit := new(big.Int).Add(big64(base), big.NewInt(int64(length)))
	if to < base || end.Cmp(limit) > 0 {
		return 0, ddp.ErrBounds
	}
	return int(to - base), nil
}

func TestBounds(t *testing.T) {
	for name, c := range map[string]struct {
		base   uint64
		length int
		to     uint64
		n      int
		want   int
		err    error
	}{
		"all of it":               {1000, 64, 1000, 64, 0, nil},
		"the last octet":          {1000, 64, 1063, 1, 63, nil},
		"below the base":          {1000, 64, 999, 1, 0, ddp.ErrBounds},
		"one octet too far":       {1000, 64, 1000, 65, 0, ddp.ErrBounds},
		"behind the end":          {1000, 64, 1064, 1, 0, ddp.ErrBounds},
		"wraps":                   {1000, 64, math.MaxUint64, 2, 0, ddp.ErrWrap},
		"wraps into the memory":   {0, 64, math.MaxUint64 - 1, 10, 0, ddp.ErrWrap},
		"ends at the very top":    {math.MaxUint64 - 3, 4, math.MaxUint64 - 3, 4, 0, nil},
		"memory beyond the top":   {math.MaxUint64 - 3, 64, math.MaxUint64 - 3, 5, 0, ddp.ErrWrap},
		"of memory without octet": {1000, 0, 1000, 1, 0, ddp.ErrBounds},
	} {
		got, err := ddp.Bounds(c.base, c.length, c.to, c.n)
		require.Equal(t, c.err, err, name)
		require.Equal(t, c.want, got, name)
	}
}

func FuzzBounds(f *testing.F) {
	f.Add(uint64(1000), uint32(64), uint64(1000), uint32(64))
	f.Add(uint64(math.MaxUint64), uint32(1), uint64(math.MaxUint64), uint32(1))
	f.Add(uint64(0), uint32(math.MaxUint32), uint64(math.MaxUint64-1), uint32(10))
	f.Fuzz(func(t *testing.T, base uint64, length uint32, to uint64, n uint32) {
		want, wantErr := bounds(base, int(length), to, int(n))
		got, err := ddp.Bounds(base, int(length), to, int(n))
		require.Equal(t, wantErr, err)
		require.Equal(t, want, got)
	})
}

func TestSegments(t *testing.T) {
	for _, step := range []int{1, 3, 1440, 65517} {
		for _, n := range []int{0, 1, step - 1, step, step + 1, 7*step - 1, 7 * step, 7*step + 1} {
			want, left := 1, n-step
			for ; left > 0; left -= step {
				want++
			}
			require.Equal(t, want, ddp.Segments(n, step), "%d octets by %d", n, step)
		}
	}
}
