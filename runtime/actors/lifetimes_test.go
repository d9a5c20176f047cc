//go:build !race

package actors_test

import (
	"fmt"
	"os"
	goruntime "runtime"
	"sync"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime/actors"
)

// heap returns the bytes of live objects.
func heap() uint64 {
	var m goruntime.MemStats
	for range 3 {
		goruntime.GC()
	}
	goruntime.ReadMemStats(&m)
	return m.HeapAlloc
}

// livesOnce is the number of objects that are made and dropped. patience is the maximum time that
// the garbage collector may take to free them.
const (
	livesOnce = 2000
	patience  = 5 * time.Second
)

// lives has functions that make an object between two ranks and drop it. The number n
// distinguishes the objects.
var lives = map[string]func(t *testing.T, all []*actors.System, n int){
	"requests": func(t *testing.T, all []*actors.System, _ int) {
		t.Helper()
		ask(t, all[0], all[0].PID(1, "answer"), 1)
	},
	"actors that are asked, watched and stopped from afar": func(t *testing.T, all []*actors.System, n int) {
		t.Helper()
		there, err := all[1].Spawn(idle(), fmt.Sprint("there", n))
		require.NoError(t, err)
		pid := actor.NewPID(there.Address, there.Id)
		ask(t, all[0], pid, 1)
		require.NoError(t, all[0].Root.StopFuture(pid).Wait())
	},
	"actors that ask and watch others": func(t *testing.T, all []*actors.System, _ int) {
		t.Helper()
		done := make(chan bool, 1)
		_, err := all[0].Spawn(actor.PropsFromFunc(func(c actor.Context) {
			switch c.Message().(type) {
			case *actor.Started:
				c.Watch(all[0].PID(1, "answer"))
				c.Request(all[0].PID(1, "answer"), 1)
			case int:
				c.Stop(c.Self())
			case *actor.Stopped:
				done <- true
			}
		}), "")
		require.NoError(t, err)
		next(t, done)
	},
	"names that nobody has": func(t *testing.T, all []*actors.System, n int) {
		t.Helper()
		_, err := all[0].Root.RequestFuture(all[0].PID(1, fmt.Sprint("never", n)), 1, soon).Result()
		require.ErrorIs(t, err, actor.ErrDeadLetter)
	},
	"names of the World": func(t *testing.T, all []*actors.System, n int) {
		t.Helper()
		there, err := all[1].Spawn(idle(), "")
		require.NoError(t, err)
		require.NoError(t, all[0].RegisterName(fmt.Sprint("name", n), there))
		require.NoError(t, all[0].Root.StopFuture(actor.NewPID(there.Address, there.Id)).Wait())
	},
}

// warm fills protoactor's tables, which grow with use.
func warm(s *actors.System) {
	for i := range 150_000 {
		pid, _ := s.ProcessRegistry.Add(s.DeadLetter, fmt.Sprint(i))
		s.ProcessRegistry.Remove(pid)
	}
}

// TestNothingIsKeptOfWhatHasEnded checks that the memory of a rank does not grow with dropped
// objects.
func TestNothingIsKeptOfWhatHasEnded(t *testing.T) {
	local(t, 2, actors.Config{Patience: time.Millisecond}, func(all []*actors.System) {
		warm(all[0])
		warm(all[1])
		_, err := all[1].Spawn(idle(), "answer")
		require.NoError(t, err)
		n := 0
		for name, live := range lives {
			some := func(count int) {
				for range count {
					live(t, all, n)
					n++
				}
			}
			some(livesOnce)
			// The limit, in bytes, is less than livesOnce objects of the smallest kind take.
			const little = livesOnce * 60
			grown := int64(little)
			// A table may grow in one round, but not in every round.
			for round := 0; grown >= little && round < 5; round++ {
				before := heap()
				some(livesOnce)
				grown = int64(heap()) - int64(before)
				for deadline := time.Now().Add(patience); grown >= little && time.Now().Before(deadline); {
					grown = int64(heap()) - int64(before)
				}
			}
			require.Less(t, grown, int64(little), name)
		}
	})
}

// TestManyLeaveNothing checks that stopped actors of eight ranks leave no memory in use, although they
// got messages of other ranks. Ended requests must leave no memory in use, either. With GORUN_SOAK=1
// there are 100,000 actors at a time and a million requests.
func TestManyLeaveNothing(t *testing.T) {
	const ranks, little = 8, 60 // little is the number of bytes that an object may leave on average
	each, requests := 250, 20_000
	if os.Getenv("GORUN_SOAK") == "1" {
		each, requests = 100_000/ranks, 1_000_000
	}
	local(t, ranks, actors.Config{}, func(all []*actors.System) {
		for _, s := range all {
			warm(s)
			_, err := s.Spawn(idle(), "answer")
			require.NoError(t, err)
		}
		stays := func(n, before int, kind string, some func(n int)) {
			some(before)
			grown := int64(n * little)
			// A table may grow in one round, but not in every round.
			for round := 0; grown >= int64(n*little) && round < 5; round++ {
				before := heap()
				some(n)
				for deadline := time.Now().Add(patience); ; {
					grown = int64(heap()) - int64(before)
					if grown < int64(n*little) || time.Now().After(deadline) {
						break
					}
				}
			}
			require.Less(t, grown, int64(n*little), kind)
		}
		stays(ranks*each, ranks*each, "actors", func(int) {
			var ended sync.WaitGroup
			ended.Add(ranks * each)
			for _, s := range all {
				for i := range each {
					_, err := s.Spawn(actor.PropsFromFunc(func(c actor.Context) {
						switch c.Message().(type) {
						case int:
							c.Stop(c.Self())
						case *actor.Stopped:
							ended.Done()
						}
					}), fmt.Sprint("a", i))
					require.NoError(t, err)
				}
			}
			for rank := range all {
				from := all[(rank+1)%ranks]
				for i := range each {
					from.Root.Send(from.PID(rank, fmt.Sprint("a", i)), i)
				}
			}
			ended.Wait()
		})
		stays(requests, requests/10, "requests", func(n int) {
			var asked sync.WaitGroup
			for rank, s := range all {
				asked.Go(func() {
					for range n / ranks {
						_, err := s.Root.RequestFuture(s.PID((rank+1)%ranks, "answer"), 1, soon).Result()
						assert.NoError(t, err)
					}
				})
			}
			asked.Wait()
		})
	})
}
