package connection_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/connection"
)

// TestCadence checks how often a device asks the kernel for events. A device that is polled all the time asks in
// one of 64 rounds. A device that is polled rarely asks in almost every round. When the rate of polls changes,
// the rate of questions to the kernel changes after a few rounds.
func TestCadence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := connection.Cadence{Most: 64, Period: time.Millisecond}
		// asked returns how many rounds asked the kernel, and the longest time between two rounds that asked.
		asked := func(rounds int, apart time.Duration) (n int, longest time.Duration) {
			last := time.Now()
			for range rounds {
				if time.Sleep(apart); c.Due() {
					longest, last = max(longest, time.Since(last)), time.Now()
					n++
				}
			}
			return n, max(longest, time.Since(last))
		}
		require.True(t, c.Due(), "the first round")
		for range 3 {
			n, longest := asked(10, 20*time.Millisecond)
			require.GreaterOrEqual(t, n, 9)
			require.LessOrEqual(t, longest, 80*time.Millisecond)

			asked(200, 100*time.Nanosecond)
			n, longest = asked(6400, 100*time.Nanosecond)
			require.InDelta(t, 100, n, 1, "one in 64")
			require.LessOrEqual(t, longest, 10*time.Microsecond)

			asked(2000, 100*time.Microsecond)
			n, longest = asked(2000, 100*time.Microsecond)
			require.InDelta(t, 200, n, 150, "about one in each millisecond")
			require.LessOrEqual(t, longest, 3*time.Millisecond)
			for c.Due() { // until the first round that does not ask
			}
			_, longest = asked(40, 50*time.Millisecond)
			require.LessOrEqual(t, longest, 9*50*time.Millisecond)
		}
		for c.Due() {
		}
		c.Reset()
		require.True(t, c.Due())
	})
}

// TestCadenceOfADeviceThatCools makes rounds in quick succession, and then one round every 11 ms, as a background
// goroutine does. It does so after 12*Most to 13*Most quick rounds, so that the slow rounds begin at every point of
// the cycle. One of the first nine slow rounds must ask the kernel for events.
func TestCadenceOfADeviceThatCools(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []connection.Cadence{{Most: 64, Period: time.Millisecond}, {Most: 1024, Period: 10 * time.Millisecond}} {
			for hot := range c.Most + 1 {
				device := c
				for range 12*c.Most + hot {
					device.Due()
				}
				began := time.Now()
				for time.Sleep(11 * time.Millisecond); !device.Due(); time.Sleep(11 * time.Millisecond) {
				}
				require.LessOrEqual(t, time.Since(began), 9*11*time.Millisecond, "Most is %d, after %d quick rounds", c.Most, 12*c.Most+hot)
			}
		}
	})
}
