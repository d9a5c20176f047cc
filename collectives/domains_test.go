package collectives_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/runtime"
)

// topologies give for each rank its node and the domain (L3 cache or NUMA node) of its processor.
// They have domains of equal and of different size, ranks that alternate between domains, domain
// numbers with gaps, and a rank that may run in any domain (-1). In some topologies the domains cannot
// be used as a level, because each rank has a domain of its own or because all ranks are in one domain.
var topologies = []struct {
	nodes, domains []int
	// spread reports whether operations on the node of rank 0 can use an algorithm with a level of
	// domains.
	spread bool
}{
	{[]int{0, 0, 0, 0}, []int{0, 0, 1, 1}, true},
	{[]int{0, 0, 0, 0, 0}, []int{0, 1, 0, 1, 1}, true},
	{[]int{0, 0, 0, 0, 0, 0}, []int{7, 3, 3, 5, 7, 3}, true},
	{[]int{0, 0, 0}, []int{0, 1, -1}, false},
	{[]int{0, 0, 0}, []int{2, 1, 0}, false},
	{[]int{0, 0, 0}, []int{1, 1, 1}, false},
	{[]int{0, 0, 0, 1, 1, 1, 1}, []int{0, 1, 1, 0, 0, 1, 1}, false},
	{[]int{0, 0, 0, 1, 0, 1, 2}, []int{0, 1, 1, 0, 0, -1, 1}, false},
}

// The algorithms with a level of domains give the results of a loop over the ranks, on one node (two
// levels) and on several nodes (three levels). The test uses every root, several lengths, and
// operators that commute and that do not commute.
func TestDomains(t *testing.T) {
	for _, c := range topologies {
		name := "node-domains"
		if slices.Max(c.nodes) > 0 {
			name = "three-level"
		} else if !c.spread {
			continue
		}
		t.Run(fmt.Sprint(c.nodes, c.domains, name), func(t *testing.T) {
			world(t, len(c.nodes), func(w *runtime.Comm) error {
				if err := collectives.Placed(w, c.nodes); err != nil {
					return err
				}
				if err := collectives.InDomains(w, c.domains); err != nil {
					return err
				}
				list := fmt.Sprintf("barrier=%s,bcast=%s,reduce=%s,allreduce=%s", name, name, name, name)
				if err := collectives.Override(w, list); err != nil {
					return err
				}
				return inAllDomains(w)
			})
		})
	}
}

// inAllDomains runs the operations that have algorithms by domain, and runs other operations between
// them.
func inAllDomains(c *runtime.Comm) error {
	then := collectives.Func(compose, false)
	for _, n := range []int{0, 1, 3000} {
		for root := range c.Size() {
			if err := rooted(c, n, root, then); err != nil {
				return err
			}
			if err := collectives.Barrier(c); err != nil {
				return err
			}
		}
		if err := rootless(c, n, then); err != nil {
			return err
		}
	}
	long := make([]int64, 200_000) // longer than one piece of the pipeline
	for i := range long {
		long[i] = int64(i)
	}
	err := collectives.AllReduce(c, long, long, collectives.Sum)
	return errors.Join(err, equal(c, "allreduce", []int64{long[0], long[len(long)-1]}, []int64{0, int64(c.Size() * (len(long) - 1))}))
}

// An algorithm with a level of domains is used only if GORUN_COLL or a table names it. The ranks of a
// node must also be in several domains, of which at least one has several ranks. It is not used if
// GORUN_REPRODUCIBLE fixes the order of a reduction.
func TestDomainsAreChosen(t *testing.T) {
	for _, c := range topologies[:6] {
		world(t, len(c.nodes), func(w *runtime.Comm) error {
			if err := collectives.InDomains(w, c.domains); err != nil {
				return err
			}
			if err := collectives.Barrier(w); err != nil {
				return err
			}
			require.NotContains(t, collectives.Explain(w, "barrier", 0), "node-domains")
			if err := collectives.Override(w, "allreduce=node-domains"); err != nil {
				return err
			}
			if c.spread {
				require.Contains(t, collectives.Explain(w, "allreduce", 8), "node-domains (asked for", c.domains)
			} else {
				require.Contains(t, collectives.Explain(w, "allreduce", 8), "cannot serve this", c.domains)
			}
			return nil
		})
	}
	t.Setenv("GORUN_REPRODUCIBLE", "1")
	world(t, 4, func(w *runtime.Comm) error {
		if err := collectives.InDomains(w, topologies[0].domains); err != nil {
			return err
		}
		if err := collectives.Override(w, "allreduce=node-domains"); err != nil {
			return err
		}
		if err := collectives.Barrier(w); err != nil {
			return err
		}
		require.Contains(t, collectives.Explain(w, "allreduce", 8), "cannot serve this")
		return nil
	})
}

// Members that call different operations in an algorithm by domain get a MismatchError.
func TestMismatchInDomains(t *testing.T) {
	for name, nodes := range map[string][]int{"node-domains": {0, 0, 0, 0}, "three-level": {0, 0, 0, 0, 1}} {
		world(t, len(nodes), func(w *runtime.Comm) error {
			c, err := w.Dup()
			if err != nil {
				return err
			}
			list := strings.ReplaceAll("barrier=X,bcast=X,allreduce=X", "X", name)
			if err := errors.Join(collectives.Placed(c, nodes), collectives.Override(c, list), collectives.InDomains(c, []int{0, 0, 1, 1, 0})); err != nil {
				return err
			}
			if err := collectives.Barrier(c); err != nil {
				return err
			}
			if c.Rank() == 3 {
				err = collectives.AllReduce(c, []int{1}, []int{0}, collectives.Sum)
			} else {
				err = collectives.Barrier(c)
			}
			for i := 0; i < 100 && err == nil; i++ {
				err = collectives.Barrier(c)
			}
			require.ErrorContains(t, err, "different collective operations", name)
			return nil
		})
	}
}
