package engine_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime/internal/engine"
	"github.com/gorun-hpc/gorun/transport"
)

// quieter is a stranger (stranger_test.go) whose endpoint reports whether its lane is quiet, that
// is, has few messages in flight.
type quieter struct {
	stranger
	quiet bool
}

func (q *quieter) Endpoint(int) (transport.Endpoint, error) { return q, nil }
func (q *quieter) Quiet() bool                              { return q.quiet }

// TestAMessageAlone checks when the send of a message that is longer than Caps.EagerBest completes at once: the
// lane must be quiet, and the message must not be longer than Caps.EagerAlone.
func TestAMessageAlone(t *testing.T) {
	q := &quieter{stranger: stranger{
		caps:     transport.Caps{MaxEager: 256, EagerBest: 64, EagerAlone: 128, Put: true},
		reported: map[int]bool{},
	}}
	e, err := engine.New(engine.Config{
		Size: 3, ChunkBytes: 64, Route: func(int) transport.Transport { return q }, Transports: []transport.Transport{q},
	})
	require.NoError(t, err)
	defer e.Close()
	for _, c := range []struct {
		bytes       int
		quiet, done bool
	}{
		{64, false, true}, {65, false, false}, {65, true, true}, {128, true, true}, {129, true, false}, {128, false, false},
	} {
		q.quiet = c.quiet
		send := e.Isend(engine.Match{Peer: 1}, 0, make([]byte, c.bytes), engine.Standard)
		require.Equal(t, c.done, send.Look(), "%d bytes, quiet: %t", c.bytes, c.quiet)
	}
}

// While at least eight receives for messages of a peer are posted, messages to this peer that are longer than
// Caps.EagerBoth go by rendezvous. With fewer receives, with receives for other messages, or without Get,
// Caps.EagerBest is the limit. The first message to a peer does not take the fast path of Isend, and the second
// does.
func TestMessagesInBothDirections(t *testing.T) {
	one := engine.Match{Peer: 1, Tag: 3}
	for _, c := range []struct {
		posted int
		from   engine.Match
		bytes  int
		get    bool
		done   bool
	}{
		{8, one, 64, true, true},
		{8, one, 65, true, false},
		{7, one, 65, true, true},
		{9, one, 128, true, false},
		{9, one, 128, false, true},
		{7, one, 128, true, true},
		{0, one, 129, true, false},
		{9, one, 129, false, false},
		{9, engine.Match{Peer: 2, Tag: 3}, 128, true, true},
		{9, engine.Match{Peer: engine.AnySource, Tag: 3}, 128, true, true},
	} {
		s := &stranger{
			caps:     transport.Caps{MaxEager: 256, EagerBest: 128, EagerBoth: 64, Get: c.get, Put: true},
			reported: map[int]bool{},
		}
		e, err := engine.New(engine.Config{
			Size: 3, ChunkBytes: 64, Route: func(int) transport.Transport { return s }, Transports: []transport.Transport{s},
		})
		require.NoError(t, err)
		for range c.posted {
			e.Irecv(c.from, 0, make([]byte, 8))
		}
		for range 2 {
			send := e.Isend(engine.Match{Peer: 1}, 0, make([]byte, c.bytes), engine.Standard)
			require.Equal(t, c.done, send.Look(), "%+v", c)
		}
		require.NoError(t, e.Close())
	}
}
