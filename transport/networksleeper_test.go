package transport_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport"
)

// drowsy is a Dozer. Its arrivals end a Doze.
type drowsy struct {
	arrivals chan struct{}
	dozes    int
	refuses  bool
}

func newDrowsy() *drowsy { return &drowsy{arrivals: make(chan struct{}, 1)} }

func (d *drowsy) Doze(nanos int64) bool {
	if d.refuses {
		return false
	}
	d.dozes++
	var late <-chan time.Time
	if nanos >= 0 {
		late = time.After(time.Duration(nanos))
	}
	select {
	case <-d.arrivals:
	case <-late:
	}
	return true
}

func (d *drowsy) Rouse() {
	select {
	case d.arrivals <- struct{}{}:
	default:
	}
}

// TestNetworkSleeperSleepsInTheTransport checks that an arrival, a ring or the deadline ends a sleep in the transport,
// and that a ring before the sleep is not lost.
func TestNetworkSleeperSleepsInTheTransport(t *testing.T) {
	for name, end := range map[string]func(s *transport.NetworkSleeper, d *drowsy){
		"arrival": func(_ *transport.NetworkSleeper, d *drowsy) { d.arrivals <- struct{}{} },
		"ring":    func(s *transport.NetworkSleeper, _ *drowsy) { s.Ring() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var s transport.NetworkSleeper
				d := newDrowsy()
				s.Attend(d)
				woken := sleepers(&s, 1, -1)
				require.Empty(t, woken)
				end(&s, d)
				synctest.Wait()
				require.Len(t, woken, 1)
				require.Equal(t, 1, d.dozes)
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		var s transport.NetworkSleeper
		d := newDrowsy()
		s.Attend(d)
		start := time.Now()
		s.Idle(s.Prepare(), int64(time.Second))
		require.Equal(t, time.Second, time.Since(start))
		ticket := s.Prepare()
		s.Ring()
		s.Sleep(ticket, -1)
		require.Equal(t, time.Second, time.Since(start))
		require.Equal(t, 1, d.dozes)
	})
}

// TestNetworkSleeperRingWakesEverySleeper checks that a ring wakes all sleepers, of which only one can sleep in the
// transport.
func TestNetworkSleeperRingWakesEverySleeper(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s transport.NetworkSleeper
		d := newDrowsy()
		s.Attend(d)
		for i := range 3 {
			woken := sleepers(&s, 4, -1)
			require.Equal(t, i+1, d.dozes)
			s.Ring()
			synctest.Wait()
			require.Len(t, woken, 4)
		}
	})
}

// TestNetworkSleeperWakesTheOthers checks that a goroutine whose sleep in the transport ends wakes those that sleep on
// the channel. Otherwise nobody would notice the arrivals for them.
func TestNetworkSleeperWakesTheOthers(t *testing.T) {
	for name, end := range map[string]func(d *drowsy){
		"arrival": func(d *drowsy) { d.arrivals <- struct{}{} },
		"time":    func(*drowsy) { time.Sleep(time.Second) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var s transport.NetworkSleeper
				d := newDrowsy()
				s.Attend(d)
				first := sleepers(&s, 1, int64(time.Second))
				others := sleepers(&s, 2, -1)
				end(d)
				synctest.Wait()
				require.Len(t, first, 1)
				require.Len(t, others, 2)
			})
		})
	}
}

// TestNetworkSleeperWithoutTheTransport checks that goroutines sleep on a channel if there is no transport to sleep in,
// or if the transport refuses.
func TestNetworkSleeperWithoutTheTransport(t *testing.T) {
	for _, d := range []*drowsy{nil, {refuses: true}} {
		synctest.Test(t, func(t *testing.T) {
			var s transport.NetworkSleeper
			if d != nil {
				s.Attend(d)
			}
			woken := sleepers(&s, 2, -1)
			require.Empty(t, woken)
			s.Ring()
			synctest.Wait()
			require.Len(t, woken, 2)
		})
	}
}
