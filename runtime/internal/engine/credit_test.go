package engine_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime/internal/engine"
	"github.com/gorun-hpc/gorun/transport"
)

// TestCreditThatCameBackIsTold checks the credit of a peer that sends messages and receives none.
// The engine must tell the peer of returned credit before the peer has used more than half of its
// window. It must not send a frame for each message.
func TestCreditThatCameBackIsTold(t *testing.T) {
	const (
		// The window of a peer that has not requested more.
		window = 256 << 10
		n      = 256
		cost   = n + 448
		many   = 4 * window / cost
	)
	m := engine.Match{Peer: 1, Tag: 1}
	for name, wait := range map[string]func(e *engine.Engine) error{
		"posted":     func(*engine.Engine) error { return nil },
		"unexpected": func(e *engine.Engine) error { _, err := e.Probe(none, m); return err },
	} {
		t.Run(name, func(t *testing.T) {
			s, e := newStranger(t)
			spent, told := uint32(0), uint32(window)
			for range many {
				s.frames = append(s.frames, strange{1, transport.Header{A: 1, B: 1}, make([]byte, n)})
				spent += cost
				require.NoError(t, wait(e))
				_, err := e.Recv(none, m, 0, make([]byte, n))
				require.NoError(t, err)
				if len(s.sent) > 0 {
					told = uint32(s.sent[len(s.sent)-1].C >> 32)
				}
				require.Greater(t, told-spent, uint32(window/2), "what is left of the credit that the peer knows of")
			}
			require.LessOrEqual(t, len(s.sent), 2*many*cost/window)
			for _, h := range s.sent {
				require.EqualValues(t, 8, h.A, "a frame of nothing but credit")
			}
		})
	}
}
