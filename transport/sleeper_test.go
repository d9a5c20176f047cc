package transport_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport"
)

// sleepers starts n goroutines that sleep from now on, and returns what tells how many
// woke up. They run in a bubble, which sees at once when nothing will wake them.
func sleepers(s *transport.ChannelSleeper, n int, nanos int64) <-chan struct{} {
	woken := make(chan struct{}, n)
	ticket := s.Prepare()
	for range n {
		go func() {
			s.Sleep(ticket, nanos)
			woken <- struct{}{}
		}()
	}
	synctest.Wait()
	return woken
}

func TestChannelSleeperIsNotLateForARing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s transport.ChannelSleeper
		ticket := s.Prepare()
		s.Ring()
		s.Sleep(ticket, -1) // would never return
		start := time.Now()
		s.Sleep(ticket, int64(time.Hour))
		require.Zero(t, time.Since(start))
	})
}

// A sleep ends at its time, and one without an end at the next ring only.
func TestChannelSleeperSleepsAsLongAsItIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s transport.ChannelSleeper
		start := time.Now()
		s.Sleep(s.Prepare(), int64(time.Second))
		require.Equal(t, time.Second, time.Since(start))
		woken := sleepers(&s, 1, -1)
		time.Sleep(time.Hour)
		synctest.Wait()
		require.Empty(t, woken)
		s.Ring()
		synctest.Wait()
		require.Len(t, woken, 1)
	})
}

// A ring wakes all sleepers, with and without a deadline, and so does the next one.
func TestChannelSleeperRingWakesEverySleeper(t *testing.T) {
	for _, nanos := range []int64{-1, int64(time.Hour)} {
		synctest.Test(t, func(t *testing.T) {
			var s transport.ChannelSleeper
			start := time.Now()
			for range 3 {
				woken := sleepers(&s, 4, nanos)
				require.Empty(t, woken)
				s.Ring()
				synctest.Wait()
				require.Len(t, woken, 4)
				s.Ring() // no goroutine sleeps
			}
			require.Zero(t, time.Since(start))
		})
	}
}
