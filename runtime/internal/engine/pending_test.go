package engine_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime/internal/engine"
)

// TestQueuedFramesAllocateNothing checks that the frames that wait for a full lane use memory again, even if their
// bodies are long.
func TestQueuedFramesAllocateNothing(t *testing.T) {
	const most = 16 << 10
	s, e, _, l := newCostly(t, most)
	s.forget = true
	e.HoldBatches(false)
	head, p := make([]byte, 20), engine.ActorMessage{Stream: l.Number(), Tag: 3}
	bodies := [][]byte{make([]byte, 3000), make([]byte, most-len(head)), make([]byte, 64), make([]byte, 5000)}
	round := func() {
		s.refuse = true
		for _, body := range bodies {
			if sent, err := e.SendActorMessage(l, p, head, body, 0); !sent || err != nil {
				t.Error(sent, err)
			}
		}
		s.refuse = false
		_, _, _ = e.Iprobe(engine.Match{Peer: 2})
	}
	round()
	s.count.Store(0)
	require.Zero(t, testing.AllocsPerRun(50, round))
	require.EqualValues(t, 51*len(bodies), s.count.Load())
}

// TestQueuedFramesKeepTheirBodies checks that the memory of a queued frame is used for nothing else until the lane has
// taken the frame, and that the slice of a send is never used for another frame.
func TestQueuedFramesKeepTheirBodies(t *testing.T) {
	s, e, _, l := newCostly(t, 4096)
	e.HoldBatches(false)
	p := engine.ActorMessage{Stream: l.Number(), Tag: 3}
	var want [][]byte
	queue := func(n int) {
		for range n {
			body := pattern(4000, len(want))
			want = append(want, body)
			sent, err := e.SendActorMessage(l, p, nil, body, 0)
			require.True(t, sent)
			require.NoError(t, err)
		}
	}
	take := func() {
		s.refuse = false
		_, _, _ = e.Iprobe(engine.Match{Peer: 2})
		s.refuse = true
	}
	s.refuse = true
	buf := pattern(4096, 100)
	want = append(want, bytes.Clone(buf))
	h := e.Isend(engine.Match{Peer: 1, Tag: 1}, 0, buf, engine.Standard)
	queue(3)
	take()
	_, err := h.Wait(none)
	require.NoError(t, err)
	queue(10)
	take()
	require.Equal(t, want, s.bodies)
	require.Equal(t, want[0], buf)
}
