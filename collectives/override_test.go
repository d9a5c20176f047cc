package collectives_test

import (
	"errors"
	"fmt"
	goruntime "runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/runtime"
)

// Every algorithm of every operation gives right results if GORUN_COLL names it. If an algorithm cannot
// serve a call, the algorithm of the built-in table serves the call.
func TestEveryAlgorithm(t *testing.T) {
	then := collectives.Func(compose, false)
	sizes, lengths := []int{2, 3, 4, 7}, []int{1, 40, 3000}
	if testing.Short() {
		sizes, lengths = []int{2, 3}, []int{1, 3000}
	}
	for op, names := range collectives.Algorithms() {
		for _, name := range names {
			t.Run(op+"="+name, func(t *testing.T) {
				for _, size := range sizes {
					world(t, size, func(c *runtime.Comm) error {
						if err := collectives.Override(c, op+"="+name); err != nil {
							return err
						}
						for _, n := range lengths {
							if err := rooted(c, n, n%size, then); err != nil {
								return err
							}
							if err := rootless(c, n, then); err != nil {
								return err
							}
							if err := blocking(trials(c, n, n%size)); err != nil {
								return err
							}
							if err := collectives.Barrier(c); err != nil {
								return err
							}
						}
						return nil
					})
				}
			})
		}
	}
}

// Operations give right results on a communicator that behaves as if each of its members were on a
// node of its own.
func TestDistantRanks(t *testing.T) {
	then := collectives.Func(compose, false)
	world(t, 6, func(c *runtime.Comm) error {
		if err := collectives.Distant(c); err != nil {
			return err
		}
		for _, n := range []int{1, 40, 3000, 30000} {
			if err := rooted(c, n, 4, then); err != nil {
				return err
			}
			if err := rootless(c, n, then); err != nil {
				return err
			}
			if err := collectives.Barrier(c); err != nil {
				return err
			}
		}
		return nil
	})
}

// A wrong list of overrides is refused, and the error names the wrong part and the valid names.
func TestBadOverridesAreNamed(t *testing.T) {
	world(t, 1, func(c *runtime.Comm) error {
		for list, want := range map[string]string{
			"allreduce":            `"allreduce" is not operation=algorithm`,
			"alreduce=ring":        `no operation "alreduce"; there are barrier, bcast`,
			"bcast=ring":           `no algorithm "ring" for bcast; there are node-small, node-pipeline, node-pull, node-pair, binomial, node-domains, three-level, two-level, k-nomial, scatter-doubling, chain, scatter-allgather`,
			"allreduce=ring,bcast": `"bcast" is not operation=algorithm`,
		} {
			err := collectives.Override(c, list)
			require.ErrorIs(t, err, collectives.ErrOverride)
			require.ErrorContains(t, err, want)
		}
		require.NoError(t, collectives.Override(c, ""))
		require.NoError(t, collectives.Override(c, " allreduce = ring , bcast=auto,"))
		return nil
	})
}

// Two ranks that do not share a processor exchange blocks of any length with the algorithm node-pipeline if
// they have measured that reading private memory is not faster. Goroutines of one process cannot read private
// memory by the system call.
func TestLongBlocksOfTwoRanks(t *testing.T) {
	world(t, 2, func(c *runtime.Comm) error {
		says := func(op, want string) error {
			if got := collectives.Explain(c, op, 1<<20); !strings.Contains(got, want) && !c.Oversubscribed() {
				return fmt.Errorf("%q does not say %q", got, want)
			}
			return nil
		}
		err := errors.Join(says("bcast", "node-pair (both ends of one message copy it once, if"), says("gather", "node-pair"),
			says("alltoall", "node-pull (every byte crosses once, if the first such call measures"), says("scatter", "node-pull"))
		send, recv := make([]byte, 2<<17), make([]byte, 2<<17)
		for range 2 {
			err = errors.Join(err, collectives.AllToAll(c, send, recv))
		}
		return errors.Join(err, says("bcast", "node-pipeline"), says("gather", "node-pipeline"), says("alltoall", "node-pipeline"),
			says("scatter", "node-pipeline"), says("reduce", "node-pipeline"))
	})
}

// Explain names the placement of the ranks and the algorithm chosen. It says whether GORUN_COLL named
// this algorithm, or named another one that cannot serve the call.
func TestExplain(t *testing.T) {
	world(t, 3, func(c *runtime.Comm) error {
		check := func(op string, bytes int, want ...string) error {
			got := collectives.Explain(c, op, bytes)
			for _, w := range want {
				if !strings.Contains(got, w) {
					return fmt.Errorf("%q does not say %q", got, w)
				}
			}
			return nil
		}
		if err := check("allreduce", 1<<20, "1048576 bytes", "3 ranks on one node", "node-segments"); err != nil {
			return err
		}
		short, whole := "node-pipeline", "node-pull"
		if c.Oversubscribed() {
			short = "scattered (ranks share processors"
			whole = short
		}
		if err := check("alltoall", 64<<10, "3 ranks on one node", short); err != nil {
			return err
		}
		if err := check("alltoall", 8*long, "3 ranks on one node", whole); err != nil {
			return err
		}
		if err := collectives.Override(c, "alltoall=node-pull"); err != nil {
			return err
		}
		blocks := make([]int64, 3*long)
		if err := collectives.AllToAll(c, blocks, make([]int64, 3*long)); err != nil {
			return err
		}
		// The AllToAll has found that private memory cannot be read by the system call, because
		// these ranks are goroutines of one process.
		if err := collectives.Override(c, ""); err != nil {
			return err
		}
		if err := check("alltoall", 8*long, "3 ranks on one node", "scattered (few ranks"); err != nil {
			return err
		}
		if err := check("allrduce", 1, `no operation "allrduce"`, "alltoall"); err != nil {
			return err
		}
		if err := collectives.Override(c, "allreduce=node-pair,bcast=binomial"); err != nil {
			return err
		}
		if err := check("bcast", 1<<20, "binomial (asked for by GORUN_COLL)"); err != nil {
			return err
		}
		if err := check("allreduce", 1<<20, "node-segments", "node-pair, named by GORUN_COLL, cannot serve this call"); err != nil {
			return err
		}
		if err := collectives.Distant(c); err != nil {
			return err
		}
		return check("allgather", 1<<20, "several nodes", "ring")
	})
}

// The root of a long Reduce combines the contributions of all ranks alone if there are two ranks, or if the ranks share
// few processors. Otherwise every rank combines a share.
func TestWhoCombines(t *testing.T) {
	defer goruntime.GOMAXPROCS(goruntime.GOMAXPROCS(0))
	for _, tc := range []struct {
		ranks, processors int
		want              string
	}{
		{2, 2, "node-pipeline"},
		{2, 1, "node-pipeline"},
		{3, 2, "node-pipeline"},
		{8, 4, "node-pipeline"},
		{8, 5, "node-segments"},
		{3, 3, "node-segments"},
	} {
		goruntime.GOMAXPROCS(tc.processors)
		world(t, tc.ranks, func(c *runtime.Comm) error {
			if got := collectives.Explain(c, "reduce", 16<<10); !strings.Contains(got, tc.want) {
				return fmt.Errorf("%d processors: %q does not say %q", tc.processors, got, tc.want)
			}
			return nil
		})
	}
}
