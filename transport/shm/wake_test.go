package shm_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/shm"
)

// asleep lets a rank sleep until it is rung. The returned channel is closed when it wakes up.
func asleep(tb testing.TB, tr *shm.Transport) <-chan struct{} {
	tb.Helper()
	ticket := tr.Sleeper().Prepare()
	require.True(tb, tr.Arm())
	woken := make(chan struct{})
	go func() {
		defer close(woken)
		tr.Sleeper().Sleep(ticket, -1)
	}()
	return woken
}

// nodes returns n transports of this process for each kind of node memory.
func nodes(tb testing.TB, n int) map[string][]*shm.Transport {
	tb.Helper()
	ts, node := mapped(tb, n, shm.Config{})
	tb.Cleanup(func() {
		for _, tr := range ts {
			require.NoError(tb, tr.Close())
		}
		require.NoError(tb, node.Close())
	})
	return map[string][]*shm.Transport{"local": local(tb, n, false), "mapped": ts}
}

// If a sender is stopped just before it rings a rank, the wake-up is not lost: the next sender
// rings.
func TestStoppedRinger(t *testing.T) {
	for name, ts := range nodes(t, 3) {
		t.Run(name, func(t *testing.T) {
			stopped, resume := make(chan struct{}), make(chan struct{})
			shm.HookBell(ts[1], 0, func(ring func()) {
				close(stopped)
				<-resume
				ring()
			})
			woken := asleep(t, ts[0])
			sent := make(chan error)
			to := endpointTo(t, ts[1], 0)
			go func() { sent <- to.Send(transport.Header{A: 1}, nil) }()
			<-stopped
			require.NoError(t, endpointTo(t, ts[2], 0).Send(transport.Header{A: 2}, nil))
			<-woken
			ts[0].Disarm()
			l := &log{}
			poll(t, ts[0], l, 2)
			require.Len(t, l.arrivals, 2)
			close(resume)
			require.NoError(t, <-sent)
		})
	}
}

// A sender is stopped just after it has rung a rank, and continues after the rank has armed again.
// The sender does not cancel the new arming, so the next sender rings.
func TestLateRinger(t *testing.T) {
	for name, ts := range nodes(t, 3) {
		t.Run(name, func(t *testing.T) {
			first := asleep(t, ts[0])
			var second <-chan struct{}
			shm.HookBell(ts[1], 0, func(ring func()) {
				ring()
				<-first
				ts[0].Disarm()
				poll(t, ts[0], &log{}, 2)
				second = asleep(t, ts[0])
			})
			require.NoError(t, endpointTo(t, ts[1], 0).Send(transport.Header{A: 1}, nil))
			require.NoError(t, endpointTo(t, ts[2], 0).Send(transport.Header{A: 2}, nil))
			<-second
			ts[0].Disarm()
		})
	}
}

// A sleeping rank is rung once, however many messages arrive. A rank that is awake is not rung.
func TestRungOnce(t *testing.T) {
	for name, ts := range nodes(t, 3) {
		t.Run(name, func(t *testing.T) {
			rings := 0
			for _, from := range []int{1, 2} {
				shm.HookBell(ts[from], 0, func(ring func()) {
					rings++
					ring()
				})
			}
			for round := 1; round <= 3; round++ {
				woken := asleep(t, ts[0])
				for range 2 * shm.RingAfter {
					for _, from := range []int{1, 2} {
						require.NoError(t, endpointTo(t, ts[from], 0).Send(transport.Header{}, nil))
					}
				}
				<-woken
				require.Equal(t, round, rings)
				ts[0].Disarm()
				require.NoError(t, endpointTo(t, ts[1], 0).Send(transport.Header{}, nil))
				require.Equal(t, round, rings, "it is awake")
				poll(t, ts[0], &log{}, 20)
			}
		})
	}
}

// Arm makes the other processes pass a memory barrier after it has armed the doorbell and before it
// looks for messages. So it finds a message that was sent between the arming and the barrier. If
// Arm has found a message, the doorbell is not armed afterwards.
func TestArmLooksBehindTheBarrier(t *testing.T) {
	ts, node := mapped(t, 2, shm.Config{})
	defer func() { require.NoError(t, node.Close()) }()
	if !shm.WithoutFences(ts...) {
		t.Skip("membarrier: not supported")
	}
	barriers := 0
	shm.HookBarrier(ts[0], func() {
		barriers++
		require.True(t, shm.Armed(ts[0]))
		require.NoError(t, endpointTo(t, ts[1], 0).Send(transport.Header{}, nil))
	})
	ticket := ts[0].Sleeper().Prepare()
	require.False(t, ts[0].Arm())
	require.Equal(t, 1, barriers)
	require.NotEqual(t, ticket, ts[0].Sleeper().Prepare(), "it was rung, too")
	shm.HookBarrier(ts[0], func() { barriers++ })
	require.False(t, ts[0].Arm(), "it has not polled")
	require.False(t, shm.Armed(ts[0]))
	for _, tr := range ts {
		require.NoError(t, tr.Close())
	}
}

// A sender orders its stores with fences if the receiver cannot make other processes pass a memory
// barrier (membarrier(2)), or if the sender itself cannot. After both ranks have announced barriers
// by Settle, stores into shared memory that are not messages need no fences.
func TestFencesWithoutMembarrier(t *testing.T) {
	fd := memory(t, 3)
	node, err := shm.OpenNode(fd, 3, rangeBytes)
	require.NoError(t, err)
	require.NoError(t, unix.Close(fd))
	ts := make([]*shm.Transport, 3)
	for i := range ts {
		ts[i], err = shm.New(node, shm.Config{Rank: i, LocalRank: i, DisableMembarrier: i == 1})
		require.NoError(t, err)
	}
	if !shm.WithoutFences(ts...) {
		t.Skip("membarrier: not supported")
	}
	for from := range ts {
		for to := range ts {
			if from != to {
				require.NoError(t, endpointTo(t, ts[from], to).Send(transport.Header{}, nil))
				require.Equal(t, from == 1 || to == 1, shm.Fenced(ts[from], to), "from %d to %d", from, to)
				require.False(t, ts[from].Barred(to), "it has not settled")
			}
		}
	}
	for _, tr := range ts {
		tr.Settle()
	}
	for from := range ts {
		for to := range ts {
			require.Equal(t, from != 1 && to != 1, ts[from].Barred(to), "from %d to %d", from, to)
		}
		require.False(t, ts[from].Barred(len(ts)), "it is not on the node")
	}
	for _, tr := range ts {
		require.NoError(t, tr.Close())
	}
	require.NoError(t, node.Close())
}
