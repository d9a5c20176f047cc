package engine_test

import (
	goruntime "runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/internal/flight"
	"github.com/gorun-hpc/gorun/runtime/internal/engine"
	"github.com/gorun-hpc/gorun/transport/transporttest"
)

// TestRecordedLengthOfAReceive checks the length that the flight recorder has for a receive for which a goroutine
// waits. After the end of the receive, this length must be the length of the message, and not that of the buffer. The
// same must hold for a receive without a buffer.
func TestRecordedLengthOfAReceive(t *testing.T) {
	receives := map[string]func(e *engine.Engine, from engine.Match) error{
		"Recv": func(e *engine.Engine, from engine.Match) error {
			_, err := e.Recv(none, from, 0, make([]byte, 64))
			return err
		},
		"Irecv": func(e *engine.Engine, from engine.Match) error {
			_, err := e.Irecv(from, 0, make([]byte, 64)).Wait(none)
			return err
		},
		"RecvMessage": func(e *engine.Engine, from engine.Match) error {
			m, err := e.RecvMessage(none, from)
			m.Release()
			return err
		},
	}
	for name, receive := range receives {
		t.Run(name, func(t *testing.T) {
			memory := make([]byte, flight.Bytes)
			w := newWorld(t, 2, transporttest.FakeOptions{}, func(c *engine.Config) {
				if c.Rank == 0 {
					c.Recorder = flight.New(memory)
				}
			})
			w.each(t, func(rank int, e *engine.Engine) error {
				if rank == 0 {
					return receive(e, engine.Match{Peer: 1, Tag: 7})
				}
				for {
					l, err := flight.Read(memory)
					if err != nil {
						return err
					}
					if len(l.Messages) == 1 && l.Messages[0].State == flight.Waiting {
						break
					}
					goruntime.Gosched()
				}
				return e.Send(none, engine.Match{Peer: 0, Tag: 7}, 0, make([]byte, 24), engine.Standard)
			})
			l, err := flight.Read(memory)
			require.NoError(t, err)
			require.Len(t, l.Messages, 1)
			require.Equal(t, flight.Done, l.Messages[0].State)
			require.EqualValues(t, 24, l.Messages[0].Bytes)
			require.EqualValues(t, 24, l.Counts.Bytes)
		})
	}
}
