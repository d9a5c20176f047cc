package shm_test

import (
	goruntime "runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport/shm"
)

// In a rank that no other process rings, goroutines sleep on a channel and not in a system call. The
// test runs in a synctest bubble, which would wait forever for a goroutine that sleeps in a system
// call.
func TestAloneSleepsWithoutAProcessor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ts, node := mapped(t, 1, shm.Config{Alone: true})
		s := ts[0].Sleeper()
		woken := make(chan struct{}, 2)
		for range cap(woken) {
			ticket := s.Prepare()
			go func() {
				s.Sleep(ticket, -1)
				woken <- struct{}{}
			}()
		}
		synctest.Wait()
		require.Empty(t, woken)
		s.Ring()
		synctest.Wait()
		require.Len(t, woken, cap(woken))

		ticket := s.Prepare()
		s.Ring()
		s.Sleep(ticket, -1)
		start := time.Now()
		s.Sleep(s.Prepare(), int64(time.Second))
		require.Equal(t, time.Second, time.Since(start))
		s.Yield()
		require.NoError(t, ts[0].Close())
		require.NoError(t, node.Close())
	})
}

// In a rank with connections, goroutines sleep until a ring or their timeout while other goroutines
// run on the only processor.
func TestConnectedSleeps(t *testing.T) {
	defer goruntime.GOMAXPROCS(goruntime.GOMAXPROCS(1))
	ts, node := mapped(t, 2, shm.Config{Connected: true})
	s := ts[0].Sleeper()
	woken := make(chan struct{})
	for range 20 {
		ticket := s.Prepare()
		go func() {
			s.Sleep(ticket, -1)
			woken <- struct{}{}
		}()
		goruntime.Gosched()
		s.Ring()
		<-woken
		s.Sleep(ticket, -1) // returns at once: the ring came after this ticket
	}
	s.Sleep(s.Prepare(), 1)
	for _, tr := range ts {
		require.NoError(t, tr.Close())
	}
	require.NoError(t, node.Close())
}
