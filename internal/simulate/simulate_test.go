package simulate_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/internal/simulate"
	"github.com/gorun-hpc/gorun/internal/simulate/program"
	"github.com/gorun-hpc/gorun/runtime"
)

// TestSeedRepeatsTheRun checks that at least three quarters of the seeds repeat a run event by event. The comment of
// package simulate says why some seeds do not. All seeds must repeat the number of ranks and the conditions. The
// runs of different seeds must have more than half as many different hashes as there are seeds.
func TestSeedRepeatsTheRun(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector shuffles goroutines")
	}
	const seeds = 20
	for _, p := range program.All() {
		same, sums := 0, map[uint64]bool{}
		for seed := int64(1001); seed <= 1000+seeds; seed++ {
			first, second := run(t, p, seed, 0), run(t, p, seed, 0)
			require.Equal(t, first.Ranks, second.Ranks)
			require.Equal(t, first.Conditions, second.Conditions)
			if sums[first.Sum] = true; first.Sum == second.Sum {
				same++
			}
		}
		t.Logf("%s: %d of %d seeds repeat", p.Name, same, seeds)
		require.GreaterOrEqual(t, same, seeds*3/4, p.Name)
		require.Greater(t, len(sums), seeds/2, p.Name)
	}
}

// TestHangIsFound checks that a job ends if its ranks wait for messages that nobody sends. The report must say
// for what each rank waits, which message was not received, and how to repeat the run.
func TestHangIsFound(t *testing.T) {
	hang := simulate.Program{Name: "hang", Ranks: []int{3}, Main: func(r simulate.Rank) error {
		c, buf := r.Comm(), make([]int, 1)
		if r.Rank() == 2 {
			return runtime.Send(c, buf, 0, 5)
		}
		_, err := runtime.Recv(c, buf, 1-r.Rank(), 7)
		return err
	}}
	r := simulate.Run(t, hang, 1, 0)
	require.ErrorIs(t, r.Err, simulate.ErrHang)
	require.Contains(t, r.String(), "rank 0: rank 1, tag 7, world, 8 bytes")
	require.Contains(t, r.String(), "rank 1: rank 0, tag 7, world, 8 bytes")
	require.Contains(t, r.String(), "rank 0: not received: 8 bytes from rank 2, tag 5, world")
	require.Contains(t, r.String(), "-run 'TestPrograms/hang$' -seed 1 -ranks 3")
}

// TestFailureOfAProgramIsTheResult checks that the error of a program is the result of the run.
func TestFailureOfAProgramIsTheResult(t *testing.T) {
	wrong := errors.New("wrong")
	r := simulate.Run(t, simulate.Program{Name: "wrong", Ranks: []int{2}, Main: func(r simulate.Rank) error {
		if r.Rank() == 1 {
			return wrong
		}
		return runtime.Ssend(r.Comm(), []int{1}, 1, 0)
	}}, 3, 0)
	require.ErrorIs(t, r.Err, wrong)
}

// TestDeathOfARank checks that the death of a rank is a loss for the others and not a failure of
// the job.
func TestDeathOfARank(t *testing.T) {
	for seed := int64(1); seed < 10; seed++ {
		heard := make([]error, 3)
		r := simulate.Run(t, simulate.Program{Name: "death", Ranks: []int{3}, Mortal: true, Adapt: func(c *simulate.Conditions) {
			c.Deaths[0].Rank, c.Deaths[0].Event = 1, 0
		}, Main: func(r simulate.Rank) error {
			_, heard[r.Rank()] = runtime.Recv(r.Comm(), make([]int, 1), 1, 0)
			return nil
		}}, seed, 0)
		require.NoError(t, r.Err)
		for _, rank := range []int{0, 2} {
			var lost *runtime.PeerError
			require.ErrorAs(t, heard[rank], &lost)
			require.Equal(t, 1, lost.Rank)
		}
	}
}

// TestAbortEndsTransfers lets rank 2 abort the job while rank 1 reads the memory of rank 0. Rank 0 then takes back
// this memory, which must not be reported as misuse.
func TestAbortEndsTransfers(t *testing.T) {
	r := simulate.Run(t, simulate.Program{Name: "abort", Ranks: []int{3}, Adapt: func(c *simulate.Conditions) {
		*c = simulate.Conditions{MaxEager: 64, EagerBest: 64, MaxReads: 1, Get: true, Alone: true, Latency: time.Millisecond, Lane: 8, Budget: 1 << 20}
	}, Main: func(r simulate.Rank) error {
		c, buf, peer := r.Comm(), make([]byte, 1<<10), 1-r.Rank()
		if r.Rank() < 2 { // so that the connections are established
			if _, err := runtime.SendRecv(c, buf[:1], peer, 1, make([]byte, 1), peer, 1); err != nil {
				return err
			}
		}
		switch r.Rank() {
		case 0:
			return runtime.Send(c, buf, 1, 0)
		case 1:
			_, err := runtime.Recv(c, buf, 0, 0)
			return err
		}
		time.Sleep(3500 * time.Microsecond) // virtual time: the Get is in progress
		return simulate.ErrGivenUp
	}}, 1, 0)
	require.NoError(t, r.Err)
	require.Contains(t, r.Last, "1 get of 0, 1024 bytes")
}

// TestFlawsOfTheNetworkAreFound checks that each flaw of a network is found by one of the first 20 seeds.
func TestFlawsOfTheNetworkAreFound(t *testing.T) {
	for flaw, name := range map[simulate.Flaw]string{
		simulate.Loses: "loses", simulate.Doubles: "doubles", simulate.Swaps: "swaps", simulate.Deaf: "deaf",
	} {
		t.Run(name, func(t *testing.T) {
			p := program.Exchange()
			p.Adapt = func(c *simulate.Conditions) { c.Flaw = flaw }
			for seed := int64(1); seed <= 20; seed++ {
				if r := simulate.Run(t, p, seed, 3); r.Err != nil {
					t.Logf("seed %d: %v", seed, r.Err)
					return
				}
			}
			t.Fatal("not found")
		})
	}
}
