package transport_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport"
)

// sleepers starts n goroutines that sleep, and waits until all of them sleep. Each goroutine sends to the
// returned channel when it has woken. The caller runs in a synctest bubble, which fails the test at once if the
// sleepers can never wake.
func sleepers(s transport.Sleeper, n int, nanos int64) <-chan struct{} {
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
		s.Sleep(ticket, -1) // must return at once, because of the earlier ring
		start := time.Now()
		s.Sleep(ticket, int64(time.Hour))
		require.Zero(t, time.Since(start))
	})
}

// TestChannelSleeperSleepsAsLongAsItIsTold checks that a sleep with a deadline ends at the deadline, and that a
// sleep without a deadline ends only with a ring.
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

// TestChannelSleeperRingWakesEverySleeper checks that a ring wakes all sleepers, with and without a deadline,
// and that later rings wake later sleepers.
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
