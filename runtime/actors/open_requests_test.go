package actors_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime"
	"github.com/gorun-hpc/gorun/runtime/actors"
	"github.com/gorun-hpc/gorun/runtime/internal/engine"
	"github.com/gorun-hpc/gorun/transport/transporttest"
)

// errKilled is the reason why ranks of the tests are lost.
var errKilled = errors.New("killed")

// silent spawns an actor that handles messages and answers none.
func silent(t *testing.T, s *actors.System, name string) <-chan any {
	t.Helper()
	return inbox(t, s, name, s.Worker())
}

// TestFuturesEndWithTheRank checks that the loss of a rank ends every kind of request to its
// actors. No actor of this test answers a request.
func TestFuturesEndWithTheRank(t *testing.T) {
	for name, mode := range modes {
		t.Run(name, func(t *testing.T) {
			f, all := fake(t, 3, transporttest.FakeOptions{Seed: 1, AgainRate: 0.1, DelayPolls: 5, ConnectPolls: 20}, nil)
			s := all[0]
			in := silent(t, all[1], "in")
			dead := letters(s)
			there := func() *actor.PID { return s.PID(1, "in") }
			ended := map[string]*actor.Future{
				"root": s.Root.RequestFuture(there(), "root", soon),
			}

			// An actor sends a request and continues when the request has ended. Another actor has
			// a name like that of a future, and is the sender of a request. That actor must get no
			// message when the rank is lost.
			reentered, piped := make(chan error, 1), make(chan any, 1)
			asker, err := s.Spawn(actor.PropsFromFunc(func(c actor.Context) {
				switch m := c.Message().(type) {
				case string:
					c.ReenterAfter(c.RequestFuture(there(), "actor", soon), func(_ any, err error) { reentered <- err })
					c.RequestFuture(there(), "piped", soon).PipeTo(c.Self())
				case error:
					piped <- m
				}
			}, mode(s)), "")
			require.NoError(t, err)
			s.Root.Send(asker, "go")
			namesake := inbox(t, s, "future$0", mode(s))
			s.Root.RequestWithCustomSender(there(), "namesake", s.PID(0, "future$0"))

			// An actor of the same rank and routers forward requests.
			forward, err := s.Spawn(actor.PropsFromFunc(func(c actor.Context) {
				if _, ok := c.Message().(string); ok {
					c.Forward(there())
				}
			}, mode(s)), "")
			require.NoError(t, err)
			ended["forwarded"] = s.Root.RequestFuture(forward, "forwarded", soon)
			router, err := s.Route(actors.RoundRobin, "", there())
			require.NoError(t, err)
			ended["routed"] = s.Root.RequestFuture(router, "routed", soon)

			for range 6 {
				next(t, in)
			}
			f.Kill(1, errKilled)
			for name, future := range ended {
				require.ErrorIs(t, future.Wait(), actor.ErrDeadLetter, name)
			}
			require.ErrorIs(t, next(t, reentered), actor.ErrDeadLetter)
			require.Equal(t, actor.ErrDeadLetter, next(t, piped))
			require.ErrorIs(t, s.Root.RequestFuture(there(), "late", soon).Wait(), actor.ErrDeadLetter)
			s.Root.Send(s.PID(0, "future$0"), "last")
			require.Equal(t, "last", next(t, namesake))
			for range len(ended) + 2 {
				d := next(t, dead)
				var lost *runtime.PeerError
				require.ErrorAs(t, d, &lost)
				require.Equal(t, 1, lost.Rank)
				require.ErrorIs(t, d, errKilled)
				require.Equal(t, there().String(), d.PID.String())
			}
		})
	}
}

// TestFirstAnswerWithoutTheLost checks a request to a router with FirstAnswer. The request ends
// without an answer only after every receiver has refused the request, cannot answer, or is lost.
func TestFirstAnswerWithoutTheLost(t *testing.T) {
	f, all := fake(t, 4, transporttest.FakeOptions{}, nil)
	s := all[0]
	var to []*actor.PID
	asked := make(chan int, 10)
	for rank := 1; rank < 4; rank++ {
		_, err := all[rank].Spawn(actor.PropsFromFunc(func(c actor.Context) {
			if m, ok := c.Message().(string); ok && m == "any" {
				if rank == 1 {
					c.Respond(&actor.DeadLetterResponse{})
				}
				asked <- rank
			}
		}), "in")
		require.NoError(t, err)
		to = append(to, s.PID(rank, "in"))
	}
	router, err := s.Route(actors.FirstAnswer, "", to...)
	require.NoError(t, err)
	future := s.Root.RequestFuture(router, "any", soon)
	require.ElementsMatch(t, []int{1, 2, 3}, []int{next(t, asked), next(t, asked), next(t, asked)})
	for rank := 1; rank < 4; rank++ {
		_, open := s.ProcessRegistry.GetLocal(future.PID().Id)
		require.True(t, open, "before the loss of rank %d", rank)
		later := s.Root.RequestFuture(s.PID(rank, "in"), "later", soon)
		f.Kill(rank, errKilled)
		require.ErrorIs(t, later.Wait(), actor.ErrDeadLetter)
	}
	require.ErrorIs(t, future.Wait(), actor.ErrDeadLetter)
}

// TestWaitingFuturesEndWithTheRank checks that the loss of a rank also ends requests that still
// wait for credit.
func TestWaitingFuturesEndWithTheRank(t *testing.T) {
	const requests = 3 * engine.StreamWindow / 1000
	f, all := fake(t, 2, transporttest.FakeOptions{}, nil)
	s := all[0]
	stuck, release := make(chan bool), make(chan bool)
	_, err := all[1].Spawn(actor.PropsFromFunc(func(c actor.Context) {
		if _, ok := c.Message().(string); ok {
			close(stuck)
			<-release
		}
	}), "in")
	require.NoError(t, err)
	defer close(release)
	s.Root.Send(s.PID(1, "in"), "stop")
	next(t, stuck)
	ended := make(chan error, requests)
	asked := make(chan bool)
	_, err = s.Spawn(actor.PropsFromFunc(func(c actor.Context) {
		if _, ok := c.Message().(*actor.Started); ok {
			for range requests {
				c.ReenterAfter(c.RequestFuture(s.PID(1, "in"), make([]byte, 1000), soon), func(_ any, err error) { ended <- err })
			}
			close(asked)
		}
	}), "")
	require.NoError(t, err)
	next(t, asked)
	require.Empty(t, ended)
	f.Kill(1, errKilled)
	for range requests {
		require.ErrorIs(t, next(t, ended), actor.ErrDeadLetter)
	}
}

// TestFuturesRaceWithTheLoss lets several goroutines send requests to two ranks, one of which dies
// meanwhile. Every request to the surviving rank must be answered, and every request to the lost
// rank must end.
func TestFuturesRaceWithTheLoss(t *testing.T) {
	const goroutines, requests = 8, 50
	for seed := range int64(2) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			f, all := fake(t, 3, transporttest.FakeOptions{Seed: seed, AgainRate: 0.1, DelayPolls: 5, ConnectPolls: 20}, nil)
			for rank := 1; rank < 3; rank++ {
				_, err := all[rank].Spawn(idle(), "in")
				require.NoError(t, err)
			}
			s := all[0]
			var wg sync.WaitGroup
			var answered [goroutines]int
			var wrong [goroutines]error
			for g := range goroutines {
				wg.Go(func() {
					for i := range requests {
						if g == 0 && i == requests/2 {
							f.Kill(1, errKilled)
						}
						lost := s.Root.RequestFuture(s.PID(1, "in"), i, soon)
						v, err := s.Root.RequestFuture(s.PID(2, "in"), i, soon).Result()
						if err != nil || v != i {
							wrong[g] = fmt.Errorf("request %d: %v, %w", i, v, err)
						}
						if err := lost.Wait(); err == nil {
							answered[g]++
						} else if !errors.Is(err, actor.ErrDeadLetter) {
							wrong[g] = err
						}
					}
				})
			}
			wg.Wait()
			for g := range goroutines {
				require.NoError(t, wrong[g])
			}
			require.Less(t, answered[0], requests)
		})
	}
}

// TestAnsweredFuturesAreForgotten checks that the memory of a rank does not grow with the number
// of its requests.
func TestAnsweredFuturesAreForgotten(t *testing.T) {
	_, all := fake(t, 2, transporttest.FakeOptions{}, nil)
	s := all[0]
	_, err := all[1].Spawn(idle(), "in")
	require.NoError(t, err)
	in := silent(t, all[1], "silent")
	for i := range 3 {
		ask(t, s, s.PID(1, "in"), i)
		require.Zero(t, s.Questions(), "the answer takes out the last question")
	}
	const open = 70
	var futures []*actor.Future
	for i := range 3 * open {
		ask(t, s, s.PID(1, "in"), i)
		if i < open {
			futures = append(futures, s.Root.RequestFuture(s.PID(1, "silent"), i, soon))
			next(t, in)
		}
	}
	require.GreaterOrEqual(t, s.Questions(), open)
	require.LessOrEqual(t, s.Questions(), 2*(open+1))
	for _, f := range futures {
		s.Root.Stop(f.PID())
	}
	for i := range 3 * open {
		ask(t, s, s.PID(1, "in"), i)
	}
	require.LessOrEqual(t, s.Questions(), open)
}

// TestRequestsEndWithTheJob checks that a request to another rank ends when the job is aborted,
// whatever its timeout, because no answer can arrive. A request that is made after the abort must
// end too.
func TestRequestsEndWithTheJob(t *testing.T) {
	ended := make(chan error, 2)
	err := runtime.Local(2, func(w *runtime.World) error {
		s, err := actors.Of(w)
		if err != nil {
			return err
		}
		if w.Rank() == 1 {
			taken := silent(t, s, "in")
			next(t, taken)
			return errKilled
		}
		for range 2 {
			future := s.Root.RequestFuture(s.PID(1, "in"), "unanswered", -1)
			go func() { ended <- future.Wait() }()
			if !errors.Is(next(t, ended), actor.ErrDeadLetter) {
				return errors.New("it ends otherwise")
			}
		}
		return nil
	})
	require.ErrorIs(t, err, errKilled)
}
