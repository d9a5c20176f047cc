package progress_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime/internal/progress"
)

// steps calls a Pace until it returns Arm, and returns how often it returned each action. The
// clock advances by step at each call. The time is passed only if Timed requests it.
func steps(t *testing.T, p *progress.Pace, step time.Duration) map[progress.Action]int {
	t.Helper()
	said := make(map[progress.Action]int)
	for now := time.Duration(0); said[progress.Arm] == 0; now += step {
		since := time.Duration(0)
		if p.Timed() {
			since = now
		}
		said[p.Next(false, since)]++
		require.Less(t, now, time.Second)
	}
	return said
}

// TestPace checks that a wait spins, yields and sleeps as long as its policy says, and starts
// again after a success.
func TestPace(t *testing.T) {
	const us = time.Microsecond
	for _, c := range []struct {
		name          string
		policy        progress.Policy
		spins, yields int
	}{
		{"sleeps soon", progress.Policy{}, 0, 15},
		{"yields", progress.Policy{Yield: 100 * us}, 0, 111},
		{"spins", progress.Policy{Spin: 10 * us}, 11, 4},
		{"both", progress.Policy{Spin: 10 * us, Yield: 100 * us}, 11, 100},
	} {
		t.Run(c.name, func(t *testing.T) {
			var p progress.Pace
			p.Start(c.policy)
			said := steps(t, &p, us)
			require.Equal(t, c.spins, said[progress.Spin])
			require.Equal(t, c.yields, said[progress.Yield])

			// After a sleep that finds nothing, the next sleep is longer and follows at once.
			for _, nap := range []time.Duration{50 * us, 100 * us, 200 * us, 400 * us, 800 * us, progress.NapLast, progress.NapLast} {
				require.Equal(t, nap, p.Nap())
				require.False(t, p.Timed())
				require.Equal(t, progress.Arm, p.Next(false, 0))
			}
			p.Resume()
			require.Equal(t, progress.Arm, p.Next(false, 0), "after a Park, too")

			want := progress.Yield
			if c.policy.Spin > 0 {
				want = progress.Spin
			}
			require.Equal(t, want, p.Next(true, time.Hour), "a success")
			require.Positive(t, steps(t, &p, us)[want])
			require.Equal(t, 50*us, p.Nap())
		})
	}
}

// TestWide checks how often a yield lets other goroutines run if none is known to be runnable: never if Go has several
// processors.
func TestWide(t *testing.T) {
	for lone, want := range map[bool]int{true: 16, false: 0} {
		var p progress.Pace
		p.Start(progress.Policy{Yield: time.Second})
		wide := 0
		for range 128 {
			p.Next(false, 0)
			if p.Wide(lone) {
				wide++
			}
		}
		require.Equal(t, want, wide)
	}
}

// TestChange checks that a wait stops spinning when its policy is replaced by one without spinning.
func TestChange(t *testing.T) {
	var p progress.Pace
	p.Start(progress.Policy{Spin: time.Second, Yield: time.Second})
	require.Equal(t, progress.Spin, p.Next(false, 0))
	p.Change(progress.Policy{Yield: time.Second})
	require.Equal(t, progress.Yield, p.Next(false, 0))
	require.Equal(t, progress.Yield, p.Next(true, 0), "also after a success")
	p.Change(progress.Policy{Spin: time.Second})
	require.Equal(t, progress.Spin, p.Next(true, 0))
}
