//go:build linux && !portable

package goroutine_test

import (
	"context"
	goruntime "runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/internal/goroutine"
)

func never()  { panic("an hour has passed") }
func nobody() { panic("an hour has passed") }

// pending returns the number of pending timers of each function. The names of the functions begin with the name of
// the package, without its path.
func pending(t *testing.T) map[string]int {
	t.Helper()
	functions, ok := goroutine.Timers()
	require.True(t, ok)
	found := map[string]int{}
	for _, f := range functions {
		found[f[strings.LastIndexByte(f, '/')+1:]]++
	}
	return found
}

// TestTimers checks that the timers of all processors are found. Stopped timers and timers with
// channels are not listed.
func TestTimers(t *testing.T) {
	const each = 200
	var mu sync.Mutex
	var all sync.WaitGroup
	var timers []*time.Timer
	begin := make(chan struct{})
	for range 4 * goruntime.GOMAXPROCS(0) {
		all.Go(func() {
			<-begin
			for i := range each {
				timer := time.AfterFunc(time.Hour, never)
				stopped := time.AfterFunc(time.Duration(i)*time.Minute+time.Hour, nobody)
				stopped.Stop()
				mu.Lock()
				timers = append(timers, timer, time.NewTimer(time.Hour))
				mu.Unlock()
			}
		})
	}
	close(begin)
	all.Wait()
	found := pending(t)
	require.Equal(t, 4*goruntime.GOMAXPROCS(0)*each, found["goroutine_test.never"], found)
	require.NotContains(t, found, "goroutine_test.nobody")
	for _, timer := range timers {
		timer.Stop()
	}
	require.NotContains(t, pending(t), "goroutine_test.never")
}

// TestTimersThatFireAndAreReset checks that a timer that was reset is pending again. A timer that has fired
// must not be pending.
func TestTimersThatFireAndAreReset(t *testing.T) {
	fired := make(chan struct{})
	timer := time.AfterFunc(0, func() { close(fired) })
	<-fired
	own := func() int { return pending(t)["goroutine_test.TestTimersThatFireAndAreReset.func1"] }
	require.Zero(t, own())
	timer.Reset(time.Hour)
	require.Equal(t, 1, own())
	timer.Stop()
	require.Zero(t, own())
}

// TestTimersOfContexts checks that the timer of a deadline is listed only if a function or a
// child context depends on the deadline.
func TestTimersOfContexts(t *testing.T) {
	const deadline = "context.WithDeadlineCause.func2"
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	_ = ctx.Done()
	require.NotContains(t, pending(t), deadline)
	stop := context.AfterFunc(ctx, nobody)
	require.Equal(t, 1, pending(t)[deadline])
	stop()
	require.NotContains(t, pending(t), deadline, "nothing depends on it any more")
	child, end := context.WithCancel(ctx)
	require.Equal(t, 1, pending(t)[deadline])
	end()
	_ = child
	require.NotContains(t, pending(t), deadline)
}

// TestTimersOfABubble checks that Timers returns false in a bubble of package testing/synctest, whose timers are
// in no heap of a processor. Timers must not search the memory for them.
func TestTimersOfABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		timer := time.AfterFunc(time.Hour, never)
		defer timer.Stop()
		_, ok := goroutine.Timers()
		require.False(t, ok)
		require.Less(t, testing.AllocsPerRun(1, func() { goroutine.Timers() }), 100.)
	})
	require.NotContains(t, pending(t), "goroutine_test.never")
}

// TestTimersWhileOthersChangeThem reads the timers while other goroutines start and stop timers.
func TestTimersWhileOthersChangeThem(t *testing.T) {
	stop := make(chan struct{})
	var all sync.WaitGroup
	for range goruntime.GOMAXPROCS(0) {
		all.Go(func() {
			for {
				select {
				case <-stop:
					return
				case <-time.After(10 * time.Microsecond):
				}
			}
		})
	}
	timer := time.AfterFunc(time.Hour, never)
	defer timer.Stop()
	known := 0
	for range 200 {
		functions, ok := goroutine.Timers()
		if !ok {
			continue // a heap of timers was changing all the time
		}
		known++
		require.Contains(t, functions, "github.com/gorun-hpc/gorun/internal/goroutine_test.never")
	}
	close(stop)
	all.Wait()
	require.NotZero(t, known)
	t.Logf("%d of 200 readings", known)
}

func BenchmarkTimers(b *testing.B) {
	for b.Loop() {
		if _, ok := goroutine.Timers(); !ok {
			b.Fatal("not known")
		}
	}
}
