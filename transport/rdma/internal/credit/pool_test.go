package credit_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/credit"
)

// limit is a second implementation of the function budget.
func limit(peers int) int {
	if peers <= 1000 {
		return 64 << 20
	}
	return 64<<20 + (peers-1000)*16<<10
}

// TestPoolStaysWithinItsBudget makes pools for various numbers of peers, and lets peers join, grow and
// leave in random order. The test checks that the receives of all peers together stay within the budget.
func TestPoolStaysWithinItsBudget(t *testing.T) {
	totals := []int{1, 2, 63, 999, 1000, 1001, 3000, 50_000}
	if testing.Short() {
		totals = totals[:len(totals)-1]
	}
	for _, peers := range totals {
		for _, wish := range []int{1, 1024, 2500, 8192, 65536} {
			r := rand.New(rand.NewPCG(uint64(peers), uint64(wish)))
			pool := credit.NewPool(peers, wish, math.MaxInt)
			require.LessOrEqual(t, pool.Slot(), max(wish, 1024))
			require.Zero(t, pool.Slot()%1024)
			var windows []int
			for range 3 * peers {
				switch i := r.IntN(4); {
				case i < 2 && len(windows) < peers:
					windows = append(windows, pool.Join())
					require.GreaterOrEqual(t, windows[len(windows)-1], 2)
				case len(windows) == 0:
				case i == 2:
					k := r.IntN(len(windows))
					windows[k] += pool.Widen(windows[k])
					require.LessOrEqual(t, windows[k], credit.WindowMax)
				case i == 3 && r.IntN(3) == 0:
					k := r.IntN(len(windows))
					pool.Leave(windows[k])
					windows[k] = windows[len(windows)-1]
					windows = windows[:len(windows)-1]
				}
			}
			for len(windows) < peers {
				windows = append(windows, pool.Join())
			}
			receives := 0
			for _, w := range windows {
				receives += w + credit.Reserve
			}
			require.Equal(t, receives*pool.Slot(), pool.Bytes())
			require.LessOrEqual(t, pool.Bytes(), limit(peers), "%d peers, slots of %d", peers, pool.Slot())
		}
	}
}

// TestPoolStaysWithinTheAdapter lets all peers join and grow. Their receives must not exceed those that the adapter
// can hold, except if the adapter cannot hold the smallest window of every peer.
func TestPoolStaysWithinTheAdapter(t *testing.T) {
	for _, c := range []struct{ peers, most, posted int }{
		{1, 100, 100}, {10, 1000, 1000}, {6500, 1 << 16, 51178}, {6500, 40_000, 40_000}, {2731, 1 << 14, 16386}, {100, 64, 600},
	} {
		pool := credit.NewPool(c.peers, 17<<10, c.most)
		windows := make([]int, c.peers)
		for i := range windows {
			windows[i] = pool.Join()
		}
		for _, w := range windows {
			for more := 1; more > 0; w += more {
				more = pool.Widen(w)
			}
		}
		require.Equal(t, c.posted, pool.Bytes()/pool.Slot(), "%+v", c)
		require.Equal(t, c.posted, pool.Most(), "%+v", c)
	}
}

// TestPoolOfManyPeers checks the length in bytes of a receive (Slot) for up to 100,000 peers.
func TestPoolOfManyPeers(t *testing.T) {
	for peers, slot := range map[int]int{1: 16 << 10, 600: 16 << 10, 1000: 10 << 10, 2000: 6 << 10, 100_000: 2 << 10} {
		require.Equal(t, slot, credit.NewPool(peers, 16<<10, math.MaxInt).Slot(), "%d peers", peers)
	}
}

// TestPoolGrows checks that a busy peer among few peers can get the largest window, and that other peers
// can get its receives when it leaves.
func TestPoolGrows(t *testing.T) {
	pool := credit.NewPool(3, 8192, math.MaxInt)
	window := pool.Join()
	require.Equal(t, 8, window, "few at first")
	for more := 1; more > 0; window += more {
		more = pool.Widen(window)
	}
	require.Equal(t, credit.WindowMax, window)
	bytes := pool.Bytes()
	pool.Leave(window)
	require.Zero(t, pool.Bytes())
	window = pool.Join()
	for more := 1; more > 0; window += more {
		more = pool.Widen(window)
	}
	require.Equal(t, bytes, pool.Bytes())
}
