package connection_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/connection"
)

// TestCadence: a device that is polled all the time is asked in one round of many, one that is
// polled now and then in each, and what changes between the two is soon followed.
func TestCadence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := connection.Cadence{Most: 64, Period: time.Millisecond}
		// asked counts the rounds that ask, and the most time between two of them.
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
			for c.Due() { // the first of a row that does not ask
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

// TestCadenceOfADeviceThatCools: after rounds that follow closely, at whatever number of them, rounds of
// the background, 10 ms apart, ask soon.
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
				require.LessOrEqual(t, time.Since(began), 9*11*time.Millisecond, "%d rounds at most, %d hot ones", c.Most, hot)
			}
		}
	})
}
