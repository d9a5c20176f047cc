package engine_test

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime/internal/engine"
	"github.com/gorun-hpc/gorun/transport"
)

// TestClearanceForMoreThanTheMessageEndsThePeer checks that a send succeeds if the CTS requests
// at most as many bytes as the message has. If the CTS requests more bytes, the engine must declare
// the peer to be down, so that the peer cannot get bytes of the memory that follows the message.
func TestClearanceForMoreThanTheMessageEndsThePeer(t *testing.T) {
	const n = 100
	for _, c := range []struct {
		room uint64
		fits bool
	}{{1, true}, {n - 1, true}, {n, true}, {n + 1, false}, {n + 64, false}, {1 << 31, false}, {1 << 63, false}, {1<<64 - 1, false}} {
		for _, put := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d/put %v", c.room, put), func(t *testing.T) {
				s, e := newStranger(t)
				memory := pattern(2*n, 1)
				send := e.Isend(engine.Match{Peer: 1, Tag: 1}, 0, memory[:n], engine.Standard)
				h := transport.Header{A: 4, C: 1} // CTS for the first operation
				body := make([]byte, 28)
				if put {
					h.A |= 0x200 // with a key, for a Put
				}
				binary.LittleEndian.PutUint64(body, c.room)
				s.frames = append(s.frames, strange{1, h, body})
				_, err := send.Wait(none)
				if c.fits {
					require.NoError(t, err)
					return
				}
				require.ErrorIs(t, err, engine.ErrProtocol)
			})
		}
	}
}
