package engine_test

import (
	"context"
	goruntime "runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime/internal/engine"
	"github.com/gorun-hpc/gorun/transport"
)

// counted is a stranger that counts the polls.
type counted struct {
	stranger
	polls int
}

func (s *counted) Poll(h transport.Handler, budget int) (int, error) {
	s.polls++
	return s.stranger.Poll(h, budget)
}

// TestPollersLetNewGoroutinesRun checks that a goroutine that Engine.Go has started runs soon, although another
// goroutine spins and Go has a single processor. Without Engine.Go, the waiting goroutine would poll until Go's
// scheduler preempts it, which takes 10 ms and thousands of polls.
func TestPollersLetNewGoroutinesRun(t *testing.T) {
	defer goruntime.GOMAXPROCS(goruntime.GOMAXPROCS(1))
	s := &counted{stranger: stranger{caps: transport.Caps{MaxEager: 256, EagerBest: 64}, reported: map[int]bool{}}}
	e, err := engine.New(engine.Config{
		Size: 2, Route: func(int) transport.Transport { return s }, Transports: []transport.Transport{s},
		Wait: engine.WaitPolicy{Spin: time.Hour},
	})
	require.NoError(t, err)
	defer e.Close()
	ctx, own := context.Background(), engine.Match{Peer: 0}
	sent := make(chan error, 1)
	e.Go(&engine.Work{Run: func() { sent <- e.Send(ctx, own, 0, nil, engine.Standard) }})
	_, err = e.Recv(ctx, own, 0, nil)
	require.NoError(t, err)
	require.NoError(t, <-sent)
	require.Less(t, s.polls, 500)
}

// workers returns how many goroutines of Engine.Go exist.
func workers() int {
	text := make([]byte, 4<<20)
	return strings.Count(string(text[:goruntime.Stack(text, true)]), "engine.(*Engine).runWork(")
}

// TestGoroutinesAreUsedAgain checks that a goroutine of Engine.Go waits for the next function, that many functions run
// at the same time, and that no goroutine is left after Close.
func TestGoroutinesAreUsedAgain(t *testing.T) {
	until := func(most int) {
		for end := time.Now().Add(20 * time.Second); workers() > most; goruntime.Gosched() {
			require.True(t, time.Now().Before(end), "%d goroutines are left", workers())
		}
	}
	until(0) // the goroutines of other tests have ended
	e, err := engine.New(engine.Config{Size: 1})
	require.NoError(t, err)
	const together = 20
	ran, release := make(chan bool), make(chan bool)
	blocked := func() {
		ran <- true
		<-release
	}
	e.Go(&engine.Work{Run: func() { ran <- true }})
	<-ran
	for range 100 {
		require.Equal(t, 1, workers(), "the goroutine has ended")
		goruntime.Gosched()
	}
	for range together {
		e.Go(&engine.Work{Run: blocked})
	}
	for range together {
		<-ran // no function waits for the end of another
	}
	for range together {
		release <- true
	}
	until(together / 2)
	e.Go(&engine.Work{Run: blocked})
	<-ran
	require.NoError(t, e.Close())
	release <- true // the goroutine of the function becomes idle after Close
	until(0)
	e.Go(&engine.Work{Run: func() { ran <- true }})
	<-ran
	until(0)
}

// TestTakenWork checks that a goroutine that takes a Work is the only one to run it, in whatever order Works are
// taken. The goroutines of the engine must run all other Works.
func TestTakenWork(t *testing.T) {
	e, err := engine.New(engine.Config{Size: 1})
	require.NoError(t, err)
	defer e.Close()
	const rounds, together = 200, 8
	for seed := range rounds {
		var runs [together]atomic.Int32
		var ended sync.WaitGroup
		works := make([]engine.Work, together)
		ended.Add(together)
		for i := range works {
			works[i].Run = func() {
				runs[i].Add(1)
				ended.Done()
			}
			e.Go(&works[i])
			if k := (i * (seed | 1)) % (i + 1); seed>>k&1 != 0 && e.Take(&works[k]) {
				works[k].Run()
			}
		}
		ended.Wait()
		for i := range works {
			require.False(t, e.Take(&works[i]))
			require.EqualValues(t, 1, runs[i].Load())
		}
	}
}

// TestTakenWorksCallOneGoroutine checks that works which are taken one after the other, before another goroutine runs,
// start one goroutine.
func TestTakenWorksCallOneGoroutine(t *testing.T) {
	defer goruntime.GOMAXPROCS(goruntime.GOMAXPROCS(1))
	e, err := engine.New(engine.Config{Size: 1})
	require.NoError(t, err)
	defer e.Close()
	before := goruntime.NumGoroutine()
	for range 100 {
		w := engine.Work{Run: func() {}}
		e.Go(&w)
		if e.Take(&w) {
			w.Run()
		}
	}
	require.LessOrEqual(t, goruntime.NumGoroutine(), before+workersAtOnce)
}

// workersAtOnce bounds the goroutines of TestTakenWorksCallOneGoroutine: usually one, and some more if Go's scheduler
// preempts the test between Go and Take.
const workersAtOnce = 4
