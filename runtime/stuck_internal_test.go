package runtime

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/bootstrap"
	"github.com/gorun-hpc/gorun/runtime/internal/engine"
)

// An episode begins when the youngest wait is as old as stalledAfter. Before that, episodeOf returns the time at
// which this will happen, so that the rank looks again at this time and not later.
func TestEpisodeBeginsWithTheYoungestWait(t *testing.T) {
	now := time.Unix(1000, 0)
	waits := func(ages ...time.Duration) (list []engine.Blocked) {
		for _, age := range ages {
			list = append(list, engine.Blocked{Since: now.Add(-age)})
		}
		return list
	}
	for name, c := range map[string]struct {
		ages   []time.Duration
		left   time.Duration // until the episode begins
		begins bool
	}{
		"no wait":               {nil, 0, false},
		"a young wait":          {[]time.Duration{time.Second}, stalledAfter - time.Second, false},
		"an old and a new wait": {[]time.Duration{time.Hour, 0}, stalledAfter, false},
		"a new and an old wait": {[]time.Duration{0, time.Hour}, stalledAfter, false},
		"exactly old enough":    {[]time.Duration{stalledAfter}, 0, true},
		"two old waits":         {[]time.Duration{time.Minute, time.Hour}, stalledAfter - time.Minute, true},
	} {
		t.Run(name, func(t *testing.T) {
			n, due := episodeOf(waits(c.ages...), now)
			require.Equal(t, c.begins, n != 0)
			if len(c.ages) == 0 {
				require.Zero(t, due)
				return
			}
			require.Equal(t, c.left, due.Sub(now))
		})
	}
	one, _ := episodeOf(waits(time.Minute, time.Hour), now)
	same, _ := episodeOf(waits(time.Minute, time.Hour), now.Add(time.Second))
	other, _ := episodeOf(waits(time.Minute, time.Hour+1), now)
	require.Equal(t, one, same)
	require.NotEqual(t, one, other, "another wait is another episode")
}

// The report of a rank that computes tells how long the program has not called gorun, even after earlier reports. gorun
// -stall and the advice "look there" depend on this time.
func TestReportsAreNoCallsOfTheProgram(t *testing.T) {
	for _, way := range []string{transportShm, transportRDMA} {
		t.Run(way, func(t *testing.T) {
			t.Setenv(bootstrap.EnvTransport, way)
			require.NoError(t, Local(2, func(w *World) error {
				w.look(time.Now().Add(-time.Minute))
				for range 3 {
					require.GreaterOrEqual(t, w.doing().Quiet, time.Minute.Seconds())
					w.look(time.Now())
				}
				return nil
			}))
		})
	}
}

// A report about a rank may be made on another goroutine than the one that looks for stalls. The race detector checks it.
func TestReportBesideALook(t *testing.T) {
	require.NoError(t, Local(1, func(w *World) error {
		looked := make(chan struct{})
		go func() {
			defer close(looked)
			for range 20 {
				_, _, _ = Iprobe(w.Comm(), AnySource, 0) // a call, so that look writes
				w.look(time.Now())
			}
		}()
		for range 20 {
			w.whereabouts(&bootstrap.Doing{}, time.Now())
		}
		<-looked
		return nil
	}))
}
