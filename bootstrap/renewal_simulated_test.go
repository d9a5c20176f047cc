package bootstrap_test

import (
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// simulate runs a simulated job in which ranks are killed at the events whose numbers are in kills. It
// returns the numbers of events and generations. If wholeHosts is true, a kill ends all ranks of the node. On
// the first node, a kill ends only one rank even if wholeHosts is true.
func simulate(t *testing.T, seed uint64, kills []int, wholeHosts bool) (events, generations int) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := newSimulated(seed, kills, wholeHosts)
		over := make(chan struct{})
		go func() {
			s.launch()
			s.running.Wait()
			close(over)
		}()
		select {
		case <-over:
		case <-time.After(time.Hour):
			s.mu.Lock()
			t.Fatalf("seed %d, kills at %v, whole hosts %v: the job hangs in generation %d; finished: %v, errors: %v", seed, kills, wholeHosts, len(s.plans)-1, s.finished, s.errs)
		}
		for _, l := range slices.Concat(s.ups, s.downs) {
			l.close()
		}
		time.Sleep(time.Second) // messages in flight arrive in this time
		s.mu.Lock()
		defer s.mu.Unlock()
		require.Empty(t, s.errs, "seed %d, kills at %v, whole hosts %v", seed, kills, wholeHosts)
		for rank, generation := range s.finished {
			require.Equal(t, len(s.plans)-1, generation, "rank %d, seed %d, kills at %v, whole hosts %v", rank, seed, kills, wholeHosts)
		}
		events, generations = s.line.events, len(s.plans)
	})
	return events, generations
}

// TestKillsAtEveryEventOfARenewal runs a simulated job for every third event, or for every event in long runs
// (GORUN_SOAK=1), and kills ranks from that event on. In some runs it kills one rank. In other runs it kills
// three ranks within a few events and two more while the other ranks renew. In each generation, only the
// cards and votes of its own processes may count. Each rank that finishes must do so in the last generation,
// and no rank may wait forever.
func TestKillsAtEveryEventOfARenewal(t *testing.T) {
	seeds, steps := uint64(30), 3
	if os.Getenv("GORUN_SOAK") == "1" {
		seeds, steps = 1000, 1
	}
	runs, most := 0, 0
	for seed := range seeds {
		last, _ := simulate(t, seed, nil, false)
		for event := 1; event <= last; event += steps {
			kills := []int{event}
			if event%2 == 0 {
				kills = []int{event, event + 1, event + 2, event + 12, event + 30}
			}
			_, generations := simulate(t, seed, kills, runs%3 == 0)
			runs, most = runs+1, max(most, generations)
		}
	}
	t.Logf("%d jobs, of up to %d generations", runs, most)
	require.Greater(t, most, 3)
}
