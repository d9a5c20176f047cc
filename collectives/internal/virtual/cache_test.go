package virtual_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/collectives/internal/virtual"
)

// TestCache checks how long a rank copies, combines and receives bytes of which a part is not in the caches of
// its processor. This part depends on the buffers and the scratch memory of all ranks of the processor.
func TestCache(t *testing.T) {
	const n, cache, miss = 1 << 10, 64 << 10, 0.5
	wire := virtual.Level{{RecvPerByte: 2}}
	model := virtual.Model{RanksPerNode: 4, Processors: 2, Node: wire, Network: wire, Copy: 1, Combine: 3, Cache: cache, Miss: miss}
	for name, c := range map[string]struct {
		ranks, argument, scratch int
		missing                  float64
	}{
		"half of the cache":        {2, cache / 2, 0, 0},
		"the whole cache":          {2, cache, 0, 0},
		"twice the cache":          {2, 2 * cache, 0, 0.5},
		"four times the cache":     {2, 4 * cache, 0, 0.75},
		"with scratch memory":      {2, cache, cache, 0.5},
		"two ranks of a processor": {4, cache, 0, 0.5},
	} {
		t.Run(name, func(t *testing.T) {
			var took []float64
			_, err := virtual.Run(virtual.Setup{Ranks: c.ranks, Model: model}, func(r *virtual.Rank) error {
				b := r.Argument(0, c.argument)
				r.Scratch(c.scratch / 2) // only the longest scratch memory counts
				r.Scratch(c.scratch)
				if r.Rank() > 0 {
					return nil
				}
				for _, step := range []func(){
					func() { r.Copy(b[:n], b[n:2*n]) },
					func() { r.Reduction(sum).Fn(b[:n], b[n:2*n], b[2*n:3*n]) },
				} {
					from := r.Now()
					step()
					took = append(took, nanoseconds(r.Now()-from))
				}
				return nil
			})
			require.NoError(t, err)
			require.Equal(t, []float64{n * (1 + c.missing*miss), n * (3 + c.missing*miss)}, took)
			res, err := virtual.Run(virtual.Setup{Ranks: c.ranks, Model: model}, func(r *virtual.Rank) error {
				b := r.Argument(0, c.argument)
				r.Scratch(c.scratch)
				switch r.Rank() {
				case 0:
					return r.Send(1, b[:n])
				case 1:
					return r.Recv(0, b[:n])
				}
				return nil
			})
			require.NoError(t, err)
			require.InDelta(t, n*(2+c.missing*miss), nanoseconds(res.Time), 1e-9)
		})
	}
}
