package bootstrap_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/bootstrap"
)

// in returns the report of a rank of a world of 64 ranks. The rank is in the given collective operations.
func in(rank int, operations ...string) bootstrap.Doing {
	return bootstrap.Doing{Rank: rank, Size: 64, In: operations}
}

// Reached lists, for each communicator whose ranks are in different collective calls, which ranks
// have reached which call. It shortens lists with many calls or many communicators.
func TestReached(t *testing.T) {
	const barrier, sum = "world, barrier, call 3, at main.go:54", "world, allreduce of 8 bytes with Sum of int64, call 2, at main.go:50"
	most := func(outliers map[int]bootstrap.Doing) []bootstrap.Doing {
		var list []bootstrap.Doing
		for rank := 63; rank >= 0; rank-- {
			d, is := outliers[rank]
			if !is {
				d = in(rank, barrier)
			}
			list = append(list, d)
		}
		return list
	}
	for name, c := range map[string]struct {
		list []bootstrap.Doing
		want []string
	}{
		"nobody":   {nil, nil},
		"in none":  {[]bootstrap.Doing{in(0), in(1)}, nil},
		"together": {most(nil), nil},
		"outliers": {most(map[int]bootstrap.Doing{5: in(5, sum), 17: in(17, sum), 9: in(9)}), []string{
			"world: 61 ranks in call 3, barrier at main.go:54; ranks 5,17 in call 2, allreduce of 8 bytes with Sum of int64 at main.go:50; rank 9 in none",
		}},
		"a part": {[]bootstrap.Doing{in(0, "world.split(0), barrier, call 1, at a.go:1"), in(2, "world.split(0), barrier, call 2, at a.go:1"), in(3)}, []string{
			"world.split(0): rank 0 in call 1, barrier at a.go:1; rank 2 in call 2, barrier at a.go:1",
		}},
		"other texts": {[]bootstrap.Doing{in(0, "world"), in(1, "world, call 1, at x"), in(2, "world, barrier, call 99999999999999999999, at x")}, nil},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, bootstrap.Reached(c.list)) })
	}
	var many, parts []bootstrap.Doing
	for rank := range 64 {
		many = append(many, in(rank, fmt.Sprintf("world, barrier, call %d, at main.go:54", 1+rank)))
		parts = append(parts, in(rank, fmt.Sprintf("c%d, barrier, call %d, at main.go:54", rank/2, 1+rank)))
	}
	require.Contains(t, bootstrap.Reached(many)[0], "; rank 4 in call 5, barrier at main.go:54; 59 more groups elsewhere")
	require.Len(t, bootstrap.Reached(parts), 7)
	require.Equal(t, "26 more communicators whose ranks have reached different operations", bootstrap.Reached(parts)[6])
}
