package engine_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime/internal/engine"
	"github.com/gorun-hpc/gorun/transport"
)

// stranger is a transport whose peers send the frames that a test prescribes. Gets and Puts
// copy no bytes, and succeed in the next Poll.
type stranger struct {
	mirror
	caps     transport.Caps
	frames   []strange
	sent     []transport.Header
	done     []uint64
	down     []int
	causes   []error // of GiveUp
	reported map[int]bool
}

type strange struct {
	peer int
	h    transport.Header
	body []byte
}

func (s *stranger) Endpoint(int) (transport.Endpoint, error) { return s, nil }
func (s *stranger) Caps() transport.Caps                     { return s.caps }
func (s *stranger) Arm() bool                                { return false }

func (s *stranger) MarkDown(peer int, _ error) { s.down = append(s.down, peer) }

func (s *stranger) GiveUp(peer int, cause error) {
	s.down, s.causes = append(s.down, peer), append(s.causes, cause)
}

func (s *stranger) Expose([]byte, transport.Access) (transport.Key, error) {
	return transport.Key{Addr: 1, Token: 1}, nil
}

func (s *stranger) Send(h transport.Header, _ []byte) error {
	s.sent = append(s.sent, h)
	return nil
}

func (s *stranger) Get(_ []byte, _ transport.Key, token uint64) error {
	s.done = append(s.done, token)
	return nil
}

func (s *stranger) Put(_ []byte, _ transport.Key, token uint64) error {
	s.done = append(s.done, token)
	return nil
}

func (s *stranger) Map(_ transport.Key, n int) ([]byte, error) {
	if n > 1<<16 {
		return nil, transport.ErrBadKey
	}
	return make([]byte, n), nil
}

func (s *stranger) Poll(h transport.Handler, _ int) (int, error) {
	frames, done, down := s.frames, s.done, s.down
	s.frames, s.done, s.down = nil, nil, nil
	for _, f := range frames {
		if !s.reported[f.peer] {
			h.Arrive(f.peer, f.h, f.body)
		}
	}
	for _, token := range done {
		h.Completed(1, token, 0, nil)
	}
	for _, peer := range down {
		if !s.reported[peer] {
			s.reported[peer] = true
			h.Down(&transport.PeerDown{Peer: peer, Cause: transport.ErrDamaged})
		}
	}
	return len(frames) + len(done) + len(down), nil
}

// tell makes a frame arrive at the next poll. The caller must not hold the engine's lock.
func (s *stranger) tell(e *engine.Engine, f strange) error {
	return e.Await(none, func() bool { s.frames = append(s.frames, f); return true }, "tell")
}

func newStranger(tb testing.TB) (*stranger, *engine.Engine) {
	tb.Helper()
	return newStrangerOf(tb, func(*engine.Config) {})
}

// newStrangerOf works as newStranger, and change may alter the configuration.
func newStrangerOf(tb testing.TB, change func(*engine.Config)) (*stranger, *engine.Engine) {
	tb.Helper()
	s := &stranger{
		caps:     transport.Caps{MaxEager: 256, EagerBest: 64, Get: true, Put: true, Handover: true, MaxReads: 2},
		reported: map[int]bool{},
	}
	cfg := engine.Config{
		Size: 3, ChunkBytes: 64, Route: func(int) transport.Transport { return s }, Transports: []transport.Transport{s},
	}
	change(&cfg)
	e, err := engine.New(cfg)
	require.NoError(tb, err)
	tb.Cleanup(func() { e.Close() })
	return s, e
}
