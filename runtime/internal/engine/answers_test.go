package engine_test

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime/internal/engine"
	"github.com/gorun-hpc/gorun/transport"
)

// TestAnswersOfAnotherPeer checks that an answer counts only if it comes from the peer of the
// operation. An answer of another peer violates the protocol: the engine declares that peer to be
// down, and the operation continues.
func TestAnswersOfAnotherPeer(t *testing.T) {
	to, from := engine.Match{Peer: 1, Tag: 1}, engine.Match{Peer: 1, Tag: 1}
	announced := func(e *engine.Engine) engine.Handle {
		return e.Isend(to, 0, make([]byte, 300), engine.Standard)
	}
	room := binary.LittleEndian.AppendUint64(nil, 300)
	for _, c := range []struct {
		name   string
		begin  func(s *stranger, e *engine.Engine) engine.Handle
		answer transport.Header // answers the first operation of the engine
		body   []byte
		err    error // the result of the operation after the peer's answer
	}{
		{"ACK", func(_ *stranger, e *engine.Engine) engine.Handle {
			return e.Isend(to, 0, make([]byte, 8), engine.Synchronous)
		}, transport.Header{A: 7, C: 1}, nil, nil},
		{"CTS", func(_ *stranger, e *engine.Engine) engine.Handle {
			return announced(e)
		}, transport.Header{A: 4, C: 1}, append(room, make([]byte, 20)...), nil},
		{"FIN", func(_ *stranger, e *engine.Engine) engine.Handle {
			return announced(e)
		}, transport.Header{A: 6, C: 1}, nil, nil},
		{"DATA", func(s *stranger, e *engine.Engine) engine.Handle {
			s.caps.Get, s.caps.Put = false, false
			envelope := binary.LittleEndian.AppendUint64(nil, 8)
			s.frames = append(s.frames, strange{1, transport.Header{A: 2, B: 1, C: 5}, append(envelope, make([]byte, 16)...)})
			return e.Irecv(from, 0, make([]byte, 8))
		}, transport.Header{A: 5, C: 1}, make([]byte, 8), nil},
		{"WITHDRAWN", func(_ *stranger, e *engine.Engine) engine.Handle {
			r := announced(e)
			r.Cancel()
			return r
		}, transport.Header{A: 11, C: 1}, nil, engine.ErrCanceled},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, e := newStranger(t)
			r := c.begin(s, e)
			// Exchange the first frames of the operation.
			e.Poll()
			s.frames = append(s.frames, strange{2, c.answer, c.body})
			e.Poll()
			require.ErrorIs(t, e.Down(2), engine.ErrProtocol)
			require.False(t, r.Done())
			require.NoError(t, e.Down(1))
			s.frames = append(s.frames, strange{1, c.answer, c.body})
			_, err := r.Wait(none)
			require.ErrorIs(t, err, c.err)
			require.NoError(t, e.Down(1))
		})
	}
}
