package collectives_test

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/runtime"
)

// pairs asks for the algorithms that send one message between two ranks.
const pairs = "bcast=node-pair,gather=node-pair"

// The algorithms that send one message between two ranks give the same results as loops over the ranks, with both
// roots and several lengths.
func TestPair(t *testing.T) {
	world(t, 2, func(c *runtime.Comm) error {
		if err := collectives.Override(c, pairs); err != nil {
			return err
		}
		for _, op := range []string{"bcast", "gather"} {
			if got := collectives.Explain(c, op, 1); !c.Oversubscribed() && !strings.Contains(got, "node-pair (asked for") {
				return fmt.Errorf("%q does not say node-pair", got)
			}
		}
		then := collectives.Func(compose, false)
		for _, n := range []int{0, 1, 3000, 1 << 17} {
			for root := range c.Size() {
				if err := rooted(c, n, root, then); err != nil {
					return fmt.Errorf("%d elements, root %d: %w", n, root, err)
				}
			}
		}
		return nil
	})
}

// If two ranks make different calls, at least one of them gets a MismatchError. The other one gets a MismatchError or
// the error of a broken communicator. Both get the error from this call, even if one sends a short message, for which
// it need not wait for the receiver.
func TestPairMismatch(t *testing.T) {
	for name, calls := range map[string][2]func(c *runtime.Comm) error{
		"long": {
			func(c *runtime.Comm) error { return collectives.Bcast(c, make([]byte, 1<<20), 0) },
			func(c *runtime.Comm) error { return collectives.Gather(c, make([]byte, 1<<20), make([]byte, 2<<20), 1) },
		},
		"short": {
			func(c *runtime.Comm) error { return collectives.Bcast(c, make([]byte, 8), 0) },
			collectives.Barrier,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var found atomic.Int32
			world(t, 2, func(c *runtime.Comm) error {
				d, err := c.Dup()
				if err == nil {
					err = collectives.Override(d, pairs)
				}
				if err != nil {
					return err
				}
				err = calls[c.Rank()](d)
				if _, ok := errors.AsType[*collectives.MismatchError](err); ok {
					found.Add(1)
				} else if !errors.Is(err, runtime.ErrCommBroken) {
					return fmt.Errorf("%w, neither a MismatchError nor of a broken communicator", err)
				}
				return collectives.Barrier(c)
			})
			require.Positive(t, found.Load())
		})
	}
}

// Two ranks that have a processor each broadcast and gather up to 512 KiB through shared memory, and longer buffers by
// one message.
func TestPairMin(t *testing.T) {
	world(t, 2, func(c *runtime.Comm) error {
		for _, op := range []string{"bcast", "gather"} {
			below, above := collectives.Explain(c, op, 512<<10), collectives.Explain(c, op, 512<<10+1)
			if !c.Oversubscribed() && (!strings.Contains(below, "node-pipeline") || !strings.Contains(above, "node-pair")) {
				return fmt.Errorf("%q, %q", below, above)
			}
		}
		return nil
	})
}
