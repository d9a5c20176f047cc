package actors_test

import (
	goruntime "runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime/actors"
	"github.com/gorun-hpc/gorun/transport/transporttest"
)

// TestOrderFromStreamToStream sends messages to one actor through several streams, one after the other.
// When the sender has no PID of the actor any more, the stream is closed. The sender's next PID of the
// actor opens another stream. Each message must arrive once, and all messages must arrive in order. The
// same must hold for messages that are sent before the actor exists, or while long messages of the
// previous stream are in transit.
func TestOrderFromStreamToStream(t *testing.T) {
	for seed := range int64(3) {
		_, all := fake(t, 2, transporttest.FakeOptions{
			Seed: seed, AgainRate: 0.1, DelayPolls: 5, ConnectPolls: 20, MaxEager: 700, EagerBest: 300,
		}, nil)
		const messages = 300
		var got <-chan any
		for i := range messages {
			pad := ""
			if i%7 == 0 {
				pad = strings.Repeat("long", 5000)
			}
			all[0].Root.Send(all[0].PID(1, "in"), string(rune(i))+pad)
			if i%15 == 0 {
				goruntime.GC() // closes the stream if the cleanup runs in time
				goruntime.Gosched()
			}
			if i == messages/6 { // within the first window of credit
				got = inbox(t, all[1], "in", all[1].Worker())
			}
		}
		for i := range messages {
			require.Equal(t, string(rune(i)), string([]rune(next(t, got).(string))[:1]))
		}
	}
}

// TestOrderBehindClosedStreams closes streams explicitly. Messages of a later stream to an actor
// must wait for the messages of an earlier stream, also if there are two earlier streams.
func TestOrderBehindClosedStreams(t *testing.T) {
	w := newWire(t, actors.Config{})
	done := inbox(t, w.s, "barrier", w.s.Worker())
	got := inbox(t, w.s, "in", w.s.Worker())
	long := func(first byte) []byte { b := make([]byte, 5000); b[0] = first; return b }

	one := w.stream(t, "in")
	w.text(t, one, "0")
	w.announce(t, one, wireString, 5000, 1)
	w.text(t, one, "2")
	w.e.CloseStream(one)
	two := w.stream(t, "in")
	w.text(t, two, "3")
	w.announce(t, two, wireString, 5000, 4)
	w.e.CloseStream(two)
	three := w.stream(t, "in")
	w.text(t, three, "5")
	w.barrier(t, done)
	w.long(4, long('4'))
	w.barrier(t, done)
	require.Equal(t, "0", next(t, got))
	require.Empty(t, got)
	w.long(1, long('1'))
	for _, want := range "12345" {
		require.Equal(t, string(want), next(t, got).(string)[:1])
	}
	// No message waits. The next stream gets the number of the first stream, which is closed. The
	// messages of the new stream are delivered at once.
	w.e.CloseStream(three)
	w.barrier(t, done)
	w.text(t, w.stream(t, "in"), "6")
	require.Equal(t, "6", next(t, got))
	require.NoError(t, w.e.Down(1))
}

// TestEndOfAnUnknownStream checks that the end of an unknown stream is a dead letter and has no
// other effect.
func TestEndOfAnUnknownStream(t *testing.T) {
	w := newWire(t, actors.Config{})
	dead := letters(w.s)
	got := inbox(t, w.s, "in", w.s.Worker())
	l, err := w.e.NewStream(1, nil, nil, nil) // no rank has been told of this stream
	require.NoError(t, err)
	w.e.CloseStream(l)
	require.Contains(t, next(t, dead).Error(), "end of stream 1")
	w.text(t, w.stream(t, "in"), "x")
	require.Equal(t, "x", next(t, got))
}

// TestWindowOutlivesItsPIDs checks that an actor that handles nothing gets at most one window of
// messages. The sender stores no PID, so that the garbage collector closes the sender's end of
// the stream repeatedly. In the end all messages must have arrived in order and once, and the
// stream must be closed.
func TestWindowOutlivesItsPIDs(t *testing.T) {
	t.Run("memory", testWindowOutlivesItsPIDs)
	t.Run("network", func(t *testing.T) { overNetwork(t); testWindowOutlivesItsPIDs(t) })
}

func testWindowOutlivesItsPIDs(t *testing.T) {
	t.Helper()
	local(t, 2, actors.Config{}, func(all []*actors.System) {
		const n = 1000
		gate, got := make(chan struct{}), make(chan int, n)
		_, err := all[1].Spawn(actor.PropsFromFunc(func(c actor.Context) {
			if m, ok := c.Message().([]byte); ok {
				<-gate
				got <- int(m[0]) | int(m[1])<<8
			}
		}), "slow")
		require.NoError(t, err)
		var sent atomic.Int64
		var sender sync.WaitGroup
		sender.Go(func() {
			for i := range n {
				m := make([]byte, 1000)
				m[0], m[1] = byte(i), byte(i>>8)
				all[0].Root.Send(all[0].PID(1, "slow"), m)
				if i%20 == 0 {
					goruntime.GC()
				}
				sent.Add(1)
			}
		})
		// The window of 256 KiB holds 232 messages of 1128 bytes.
		require.Eventually(t, func() bool { return sent.Load() == 232 && all[0].Waiting() }, soon, time.Millisecond)
		close(gate)
		for i := range n {
			require.Equal(t, i, next(t, got))
		}
		sender.Wait()
		require.Eventually(t, func() bool { goruntime.GC(); return all[0].Lines(1) == 0 }, soon, time.Millisecond)
	})
}
