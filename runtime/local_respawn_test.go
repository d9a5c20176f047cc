package runtime_test

import (
	"context"
	"errors"
	"fmt"
	goruntime "runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/internal/localjob"
	"github.com/gorun-hpc/gorun/runtime"
)

// around sends the generation to the next rank and requires the same generation from the previous
// rank.
func around(w *runtime.World) error {
	n, got := w.Size(), []int{-1}
	_, err := runtime.SendRecv(w.Comm(), []int{w.Generation()}, (w.Rank()+1)%n, 3, got, (w.Rank()+n-1)%n, 3)
	if err == nil && got[0] != w.Generation() {
		err = fmt.Errorf("a message of generation %d in generation %d", got[0], w.Generation())
	}
	return err
}

// LocalRespawn starts lost ranks again, and all ranks continue in the next generation with the
// right roles.
func TestLocalRespawnGoesOn(t *testing.T) {
	var roles [3]atomic.Int32
	var starts atomic.Int32
	err := runtime.LocalRespawn(t.Context(), 3, 2, func(w *runtime.World) error {
		starts.Add(1)
		return w.Resume(func(w *runtime.World) error {
			roles[w.Role()].Add(1)
			for range w.Size() - 1 { // then every rank has begun, and has its role of this generation
				if err := around(w); err != nil {
					return err
				}
			}
			if w.Generation() == w.Rank() && w.Rank() < 2 {
				panic("lost")
			}
			return around(w)
		})
	})
	require.NoError(t, err)
	require.EqualValues(t, 5, starts.Load())
	require.EqualValues(t, 3, roles[runtime.Initial].Load())
	require.EqualValues(t, 2, roles[runtime.Recovered].Load())
	require.EqualValues(t, 4, roles[runtime.Survivor].Load())
}

// All ranks of all generations see the number of processors with which the job began, even if the
// program changes GOMAXPROCS. The ranks would otherwise choose different algorithms.
func TestLocalRespawnKeepsTheProcessors(t *testing.T) {
	began := goruntime.GOMAXPROCS(0)
	defer goruntime.GOMAXPROCS(began)
	err := runtime.LocalRespawn(t.Context(), 2, 1, func(w *runtime.World) error {
		if got := w.Processors(); got != began {
			return fmt.Errorf("rank %d began with %d processors, want %d", w.Rank(), got, began)
		}
		return w.Resume(func(w *runtime.World) error {
			if got := w.Processors(); got != began {
				return fmt.Errorf("rank %d has %d processors in generation %d, want %d", w.Rank(), got, w.Generation(), began)
			}
			if err := around(w); err != nil || w.Generation() > 0 || w.Rank() > 0 {
				return err
			}
			goruntime.GOMAXPROCS(began + 3)
			panic("lost")
		})
	})
	require.NoError(t, err)
}

// LocalRespawn ends with the right error when a rank cannot be started again, and in the other
// cases that end a job. A second World.Resume returns ErrResume and does not end the job.
func TestLocalRespawnEnds(t *testing.T) {
	wrong := errors.New("wrong")
	var panicked *runtime.PanicError
	var rank *runtime.RankError
	t.Run("without restarts", func(t *testing.T) {
		err := runtime.LocalRespawn(t.Context(), 2, 0, func(*runtime.World) error { return wrong })
		require.ErrorIs(t, err, runtime.ErrArgument)
		require.ErrorContains(t, err, "local_respawn_test.go")
	})
	t.Run("after the last restart", func(t *testing.T) {
		var starts atomic.Int32
		err := runtime.LocalRespawn(t.Context(), 3, 2, func(w *runtime.World) error {
			return w.Resume(func(w *runtime.World) error {
				if w.Rank() == 1 {
					starts.Add(1)
					panic("lost")
				}
				return around(w)
			})
		})
		require.IsType(t, rank, err)
		require.ErrorAs(t, err, &panicked)
		require.ErrorAs(t, err, &rank)
		require.Equal(t, 1, rank.Rank)
		require.EqualValues(t, 3, starts.Load())
		require.ErrorContains(t, err, "rank 1: after 2 restarts of the job: panic: lost")
	})
	t.Run("with an error", func(t *testing.T) {
		err := runtime.LocalRespawn(t.Context(), 3, 2, func(w *runtime.World) error {
			return w.Resume(func(w *runtime.World) error {
				if w.Rank() == 1 {
					return wrong
				}
				return around(w)
			})
		})
		require.ErrorIs(t, err, wrong)
	})
	t.Run("as a failed test", func(t *testing.T) {
		before := goruntime.NumGoroutine()
		var starts atomic.Int32
		err := runtime.LocalRespawn(t.Context(), 3, 2, func(w *runtime.World) error {
			return w.Resume(func(w *runtime.World) error {
				if w.Rank() == 1 {
					starts.Add(1)
					goruntime.Goexit()
				}
				return around(w)
			})
		})
		require.ErrorContains(t, err, "rank 1: the rank's goroutine was ended by runtime.Goexit")
		require.EqualValues(t, 1, starts.Load())
		for end := time.Now().Add(hangLimit); goruntime.NumGoroutine() > before; goruntime.Gosched() {
			require.True(t, time.Now().Before(end), "%d goroutines are left of the job", goruntime.NumGoroutine()-before)
		}
	})
	t.Run("after Resume", func(t *testing.T) {
		err := runtime.LocalRespawn(t.Context(), 3, 2, func(w *runtime.World) error {
			if err := w.Resume(around); err != nil {
				return err
			}
			if w.Rank() == 1 {
				panic("lost")
			}
			return nil
		})
		require.ErrorAs(t, err, &panicked)
		require.ErrorContains(t, err, "rank 1: after World.Resume has ended at all ranks: panic: lost")
	})
	t.Run("without Resume", func(t *testing.T) {
		err := runtime.LocalRespawn(t.Context(), 2, 2, func(w *runtime.World) error {
			if w.Rank() == 1 {
				panic("lost")
			}
			return around(w)
		})
		var lost *runtime.PeerError
		require.ErrorAs(t, err, &lost)
		require.ErrorContains(t, err, "communicator world has ended: ")
		require.ErrorContains(t, err, "the program has to call World.Resume")
	})
	t.Run("with a second Resume", func(t *testing.T) {
		err := runtime.LocalRespawn(t.Context(), 2, 1, func(w *runtime.World) error {
			return w.Resume(func(w *runtime.World) error {
				if w.Generation() == 0 && w.Rank() == 1 {
					panic("lost")
				}
				if err := w.Resume(func(*runtime.World) error { return nil }); w.Generation() > 0 && !errors.Is(err, runtime.ErrResume) {
					return fmt.Errorf("%v: %w", w.Role(), err)
				}
				return around(w)
			})
		})
		require.NoError(t, err)
	})
	t.Run("with its context", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		err := runtime.LocalRespawn(ctx, 2, 2, func(w *runtime.World) error {
			if w.Rank() == 1 {
				cancel()
			}
			_, err := runtime.Recv(w.Comm(), []int{0}, 1-w.Rank(), 9)
			return err
		})
		var hang *runtime.HangError
		require.ErrorAs(t, err, &hang)
		require.ErrorIs(t, err, context.Canceled)
		require.Contains(t, hang.Report, "tag 9")
	})
}

// In each of five generations, a rank is killed and started again. The other ranks wait for a message that no rank
// sends, and get a PeerError with the killed rank.
func TestKilledRanksOfALocalComeAgain(t *testing.T) {
	const ranks, kills = 3, 5
	var job localjob.Job
	ready := make(chan struct{})
	job, err := localjob.Start(localjob.Config{Ranks: ranks, Restarts: kills, Main: func(world any) error {
		<-ready
		return world.(*runtime.World).Resume(func(w *runtime.World) error {
			if w.Generation() == kills {
				return around(w)
			}
			victim := w.Generation() % ranks
			if w.Rank() == victim {
				job.Kill(w.Rank(), errTestKill)
			}
			_, err := runtime.Recv(w.Comm(), []int{0}, (victim+1)%ranks, 4) // the source sends nothing
			if w.Rank() == victim {
				return err
			}
			return errors.Join(isLoss(err, victim), err)
		})
	}})
	require.NoError(t, err)
	close(ready)
	ctx, cancel := context.WithTimeout(t.Context(), hangLimit)
	defer cancel()
	require.NoError(t, job.Wait(ctx))
}

// slowLauncher delivers the messages of the ranks to the launcher in order, but holds the messages of
// one rank until release.
type slowLauncher struct {
	mu   sync.Mutex
	slow int      // rank whose messages are held, -1 for none
	held []func() // messages of that rank
}

var _ localjob.Launcher = (*slowLauncher)(nil)

func (l *slowLauncher) Up(rank int, arrive func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if rank == l.slow {
		l.held = append(l.held, arrive)
		return
	}
	arrive()
}

func (l *slowLauncher) Down(_ int, arrive func()) { arrive() }

func (l *slowLauncher) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, arrive := range l.held {
		arrive()
	}
	l.slow, l.held = -1, nil
}

// If a rank is lost before all ranks have joined, the others are survivors, although they were in
// no World before.
func TestRolesAfterALossDuringTheStart(t *testing.T) {
	launcher := &slowLauncher{slow: 1}
	var roles [3]atomic.Int32
	job, err := localjob.Start(localjob.Config{Ranks: 3, Restarts: 1, Launcher: launcher, Main: func(world any) error {
		return world.(*runtime.World).Resume(func(w *runtime.World) error {
			roles[w.Role()].Add(1)
			return around(w)
		})
	}})
	require.NoError(t, err)
	require.True(t, job.Kill(1, errTestKill))
	launcher.release()
	require.NoError(t, job.Wait(t.Context()))
	require.EqualValues(t, 2, roles[runtime.Survivor].Load())
	require.EqualValues(t, 1, roles[runtime.Recovered].Load())
}
