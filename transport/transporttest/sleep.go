package transporttest

import (
	"fmt"
	"sync"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport"
)

// sleepRules are the rules of Sleeper, Arm and Disarm.
var sleepRules = []rule{
	{"RingEndsEverySleep", 2, testRing},
	{"RingBetweenPrepareAndSleepCounts", 2, testRingBeforeSleep},
	{"SleepEndsAtItsTime", 2, testSleepTime},
	{"ArmIsRefusedWhileSomethingIsThere", 2, testArmRefused},
	{"ArmedRankIsRungByAMessage", 2, testArmedMessage},
	{"ArmedRankIsRungByALoss", 3, testArmedLoss},
	{"DisarmMayBeCalledAnyTime", 2, testDisarm},
	{"NoWakeUpIsLost", 2, testPingPongAsleep},
	{"NoWakeUpIsLostAmongMany", 6, testRingAsleep},
	{"BulkWakesBothSides", 2, testBulkAsleep},
}

// within fails the test if run does not return within patience.
func (r *rig) within(what string, run func()) {
	r.Helper()
	done := make(chan struct{})
	go func() { defer close(done); run() }()
	timer := time.NewTimer(r.patience)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
		require.Fail(r, "still waiting", what)
	}
}

// eachWayToSleep runs a rule twice: with the method Sleep and with the method Idle of rank 0's
// Sleeper.
func (r *rig) eachWayToSleep(run func(s transport.Sleeper, sleep func(ticket uint32, nanos int64))) {
	r.Helper()
	s := r.ranks[0].sleeper
	run(s, s.Sleep)
	run(s, s.Idle)
}

func testRing(r *rig) {
	const sleepers = 5
	r.eachWayToSleep(func(s transport.Sleeper, sleep func(uint32, int64)) {
		var ready, all sync.WaitGroup
		for range sleepers {
			ready.Add(1)
			all.Go(func() {
				ticket := s.Prepare()
				ready.Done()
				sleep(ticket, -1)
			})
		}
		ready.Wait()
		s.Ring()
		r.within("every sleeper", all.Wait)
	})
}

func testRingBeforeSleep(r *rig) {
	r.eachWayToSleep(func(s transport.Sleeper, sleep func(uint32, int64)) {
		for range 100 {
			ticket := s.Prepare()
			s.Ring()
			r.within("a sleep whose ring came first", func() { sleep(ticket, -1) })
		}
	})
}

func testSleepTime(r *rig) {
	r.eachWayToSleep(func(s transport.Sleeper, sleep func(uint32, int64)) {
		r.within("a short sleep", func() {
			sleep(s.Prepare(), int64(time.Millisecond))
			sleep(s.Prepare(), 0)
			s.Yield()
		})
	})
}

func testArmRefused(r *rig) {
	r.connected(0, 1)
	r.quiet()
	r.drive("send", func() error { return r.endpoint(0, 1).Send(transport.Header{}, nil) })
	m := r.ranks[1]
	if len(m.arrivals) == 0 {
		require.False(r, m.transport.Arm(), "armed over a message that is there")
	}
	r.pump("the message", func() bool { return len(m.arrivals) == 1 })
	r.quiet()
	require.True(r, m.transport.Arm(), "an idle transport")
	m.transport.Disarm()
}

// armed waits until no events arrive, arms the transport of a rank, and returns a ticket with which that rank
// can sleep.
func (r *rig) armed(rank int) uint32 {
	r.Helper()
	m := r.ranks[rank]
	r.quiet()
	ticket := m.sleeper.Prepare()
	require.True(r, m.transport.Arm())
	return ticket
}

func testArmedMessage(r *rig) {
	for i := range r.rounds(50) {
		r.connected(0, 1)
		m := r.ranks[1]
		ticket := r.armed(1)
		require.NoError(r, r.ranks[0].send(1, transport.Header{A: uint64(i)}, nil))
		r.within("a ring by a message", func() { m.sleeper.Sleep(ticket, -1) })
		m.transport.Disarm()
		r.pump("the message", func() bool { return len(m.arrivals) == i+1 })
	}
}

func testArmedLoss(r *rig) {
	m := r.ranks[0]
	for i, tell := range tellers {
		r.connected(1+i, 0)
		ticket := r.armed(0)
		r.within("a ring by a loss", func() {
			go tell(m.transport, 1+i, errLost)
			m.sleeper.Sleep(ticket, -1)
		})
		m.transport.Disarm()
		r.pump("the loss", func() bool { return len(m.downs) == 1+i })
		require.Equal(r, 1+i, m.downs[i].Peer)
		require.ErrorIs(r, m.downs[i], errLost)
	}
}

func testDisarm(r *rig) {
	m := r.ranks[0]
	m.transport.Disarm()
	m.transport.Disarm()
	r.armed(0)
	m.transport.Disarm()
	m.transport.Disarm()
	r.connected(1, 0)
}

// testPingPongAsleep passes a token between two ranks, as testRingAsleep does with more ranks. Each rank sleeps
// until the token arrives. If one wake-up is lost, the token stops.
func testPingPongAsleep(r *rig) { r.passToken(r.rounds(2000)) }

func testRingAsleep(r *rig) { r.passToken(r.rounds(300)) }

// passToken passes a token around all ranks, in the order of their numbers. Each rank sleeps until
// the token arrives.
func (r *rig) passToken(rounds int) {
	r.Helper()
	got := make([]int, len(r.ranks))
	for i, m := range r.ranks {
		m.onArrive = func(int, transport.Header, []byte) { got[i]++ }
	}
	r.parallel(func(m *member) error {
		pass := func() error { return m.send((m.rank+1)%len(r.ranks), transport.Header{}, nil) }
		for i := range rounds {
			if m.rank == 0 {
				if err := pass(); err != nil {
					return err
				}
			}
			if err := m.wait("the token", func() bool { return got[m.rank] > i }); err != nil {
				return fmt.Errorf("round %d: %w", i, err)
			}
			if m.rank != 0 {
				if err := pass(); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// testBulkAsleep makes rank 0 read memory of rank 1 by Get while rank 1 sleeps. After each Get, rank
// 0 sends rank 1 a message. If a Get needs rank 1 to make progress, the transport must wake rank 1.
func testBulkAsleep(r *rig) {
	e, caps := r.connected(0, 1)
	r.needs("get", caps.Get)
	const n = 100_000
	rounds := r.rounds(100)
	source := pattern(1, n)
	k := r.expose(1, source, transport.AccessRead)
	told := 0
	r.ranks[1].onArrive = func(int, transport.Header, []byte) { told++ }
	dst := make([]byte, n)
	r.parallel(func(m *member) error {
		if m.rank == 1 {
			return m.wait("the last word", func() bool { return told == rounds })
		}
		for range rounds {
			if err := m.complete("the bytes", func(token uint64) error { return e.Get(dst, k, token) }); err != nil {
				return err
			}
			if err := m.send(1, transport.Header{}, nil); err != nil {
				return err
			}
		}
		return nil
	})
	require.Equal(r, source, dst)
	require.NoError(r, r.ranks[1].transport.Conceal(k))
}
