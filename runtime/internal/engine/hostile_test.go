package engine_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime/internal/engine"
	"github.com/gorun-hpc/gorun/transport"
)

// broken is a transport that fails permanently after some polls.
type broken struct {
	mirror
	left int
}

var errBroken = errors.New("broken")

func (b *broken) Poll(transport.Handler, int) (int, error) {
	if b.left--; b.left < 0 {
		return 0, errBroken
	}
	return 0, nil
}

// TestEngineThatEndsDuringAPollEndsTheWait checks that a wait ends when the engine ends during
// any of the wait's polls.
func TestEngineThatEndsDuringAPollEndsTheWait(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for polls := range 100 {
		b := &broken{left: polls}
		e, err := engine.New(engine.Config{
			Size: 2, Route: func(int) transport.Transport { return b }, Transports: []transport.Transport{b},
			Wait: engine.WaitPolicy{Spin: time.Minute},
		})
		require.NoError(t, err)
		require.ErrorIs(t, e.Await(ctx, func() bool { return false }, "wait"), errBroken, "after %d polls", polls)
		e.Close()
	}
}

func TestBrokenFramesEndTheirPeerAndNothingElse(t *testing.T) {
	key := make([]byte, 24)
	huge := append([]byte(nil), key...)
	binary.LittleEndian.PutUint64(huge, 1<<63)
	for _, c := range []struct {
		name string
		f    strange
	}{
		{"no kind", strange{1, transport.Header{}, nil}},
		{"unknown kind", strange{1, transport.Header{A: 200}, nil}},
		{"unknown flag", strange{1, transport.Header{A: 0x8001}, nil}},
		{"reserved bits", strange{1, transport.Header{A: 0x100001}, nil}},
		{"negative tag", strange{1, transport.Header{A: 1, B: 1 << 31}, nil}},
		{"credit beyond every window", strange{1, transport.Header{A: 1, C: 0x7000_0000 << 32}, nil}},
		{"short envelope", strange{1, transport.Header{A: 2}, key[:23]}},
		{"long envelope", strange{1, transport.Header{A: 2}, append(key, 0)}},
		{"message of negative length", strange{1, transport.Header{A: 2}, huge}},
		{"handover of negative length", strange{1, transport.Header{A: 3}, huge}},
		{"CTS for nothing", strange{1, transport.Header{A: 4, C: 77}, make([]byte, 28)}},
		{"CTS without a body", strange{1, transport.Header{A: 4, C: 1}, nil}},
		{"DATA for nothing", strange{1, transport.Header{A: 5, C: 3}, key}},
		{"FIN for nothing", strange{1, transport.Header{A: 6, C: 1 << 24}, nil}},
		{"ACK for nothing", strange{1, transport.Header{A: 7}, nil}},
		{"type without room", strange{1, transport.Header{A: 9, B: 64 << 32}, make([]byte, 5000)}},
		{"type that is basic", strange{1, transport.Header{A: 9, B: 3 << 32}, []byte("int")}},
		{"type that is no text", strange{1, transport.Header{A: 9, B: 64 << 32}, []byte{0xff, 0xfe}}},
		{"WITHDRAWN for nothing", strange{1, transport.Header{A: 11, C: 9}, nil}},
		{"short release", strange{1, transport.Header{A: 12}, key[:7]}},
		{"actor message with a negative tag", strange{1, transport.Header{A: 14, B: 1 << 31}, nil}},
		{"notice without end", strange{1, transport.Header{A: 13}, make([]byte, 257)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, e := newStranger(t)
			e.SetActorReceiver(new(bomb))
			hurt := e.Irecv(engine.Match{Peer: 1, Tag: 1}, 0, nil)
			well := e.Irecv(engine.Match{Peer: 2, Tag: 1}, 0, nil)
			s.frames = append(s.frames, c.f, strange{2, transport.Header{A: 1, B: 1}, nil})
			_, err := hurt.Wait(none)
			var lost *engine.PeerError
			require.ErrorAs(t, err, &lost)
			require.Equal(t, 1, lost.Rank)
			require.ErrorIs(t, err, engine.ErrProtocol)
			_, err = well.Wait(none)
			require.NoError(t, err)
		})
	}
}

// TestOffenderMayLive checks that the engine gives up a peer which has violated the protocol. If the engine marked the
// peer down, the transport would use memory again to which the peer may still write.
func TestOffenderMayLive(t *testing.T) {
	s, e := newStranger(t)
	s.frames = append(s.frames, strange{1, transport.Header{A: 200}, nil})
	e.Poll()
	require.Len(t, s.causes, 1)
	require.ErrorIs(t, s.causes[0], engine.ErrProtocol)
}

func TestFloodBeyondCreditEndsThePeer(t *testing.T) {
	s, e := newStranger(t)
	for range 1000 {
		s.frames = append(s.frames, strange{1, transport.Header{A: 1, B: 9}, make([]byte, 256)})
	}
	e.Poll()
	require.ErrorIs(t, e.Down(1), engine.ErrProtocol)
	held, _ := e.Held()
	require.LessOrEqual(t, held, 300<<10)
}

// TestDamageWhileBytesMove makes the engine declare a peer to be down while the Gets of a receive are in
// progress. If these Gets transfer the rest of the message, the receive must succeed. Otherwise the
// receive must end with the loss of the peer.
func TestDamageWhileBytesMove(t *testing.T) {
	for _, n := range []int{100, 1000} {
		s, e := newStranger(t)
		r := e.Irecv(engine.Match{Peer: 1, Tag: 1}, 0, make([]byte, n))
		body := make([]byte, 24)
		binary.LittleEndian.PutUint64(body, uint64(n))
		s.frames = append(s.frames, strange{1, transport.Header{A: 0x202, B: 1, C: 5}, body})
		e.Iprobe(engine.Match{Peer: 2, Tag: 1})
		require.NotEmpty(t, s.done)
		s.frames = append(s.frames, strange{1, transport.Header{A: 200}, nil})
		_, err := r.Wait(none)
		if n == 100 {
			require.NoError(t, err)
		} else {
			require.ErrorIs(t, err, engine.ErrProtocol)
		}
	}
}

// TestUnrequestedData sends DATA for a receive that still waits for its turn to Get. The receive
// must fail.
func TestUnrequestedData(t *testing.T) {
	s, e := newStranger(t)
	m := engine.Match{Peer: 1, Tag: 1}
	var rs []engine.Handle
	// Two of the three Gets run at a time.
	for range 3 {
		rs = append(rs, e.Irecv(m, 0, make([]byte, 64)))
		body := make([]byte, 24)
		binary.LittleEndian.PutUint64(body, 64)
		s.frames = append(s.frames, strange{1, transport.Header{A: 0x202, B: 1, C: 5}, body})
	}
	s.frames = append(s.frames, strange{1, transport.Header{A: 5, C: 3}, make([]byte, 64)})
	for i, r := range rs {
		_, err := r.Wait(none)
		if i == 2 {
			require.ErrorIs(t, err, engine.ErrProtocol)
		}
	}
}

// TestDataForASend sends DATA for a send. The record of the send was used before by a receive
// that had requested DATA. The engine must not write to the slice of the sender.
func TestDataForASend(t *testing.T) {
	s, e := newStrangerOf(t, func(*engine.Config) {})
	s.caps.Get, s.caps.Put = false, false
	m := engine.Match{Peer: 1, Tag: 1}
	body := make([]byte, 24)
	binary.LittleEndian.PutUint64(body, 8)
	s.frames = append(s.frames,
		strange{1, transport.Header{A: 2, B: 1, C: 5}, body}, strange{1, transport.Header{A: 5, C: 1}, make([]byte, 8)})
	_, err := e.Recv(none, m, 0, make([]byte, 8))
	require.NoError(t, err)
	out := make([]byte, 300)
	r := e.Isend(m, 0, out, engine.Standard)
	id := uint64(uint32(s.sent[len(s.sent)-1].C))
	s.frames = append(s.frames, strange{1, transport.Header{A: 5, C: id}, []byte("12345678")})
	_, err = r.Wait(none)
	require.ErrorIs(t, err, engine.ErrProtocol)
	require.Equal(t, make([]byte, 300), out)
}

// TestLengthsOf64Bits checks that a status can state lengths up to 1<<62 (MPICH's
// pt2pt/big_count_status.c).
func TestLengthsOf64Bits(t *testing.T) {
	for _, n := range []int{5 << 30, 1<<62 - 1, 1 << 62} {
		s, e := newStranger(t)
		body := make([]byte, 24)
		binary.LittleEndian.PutUint64(body, uint64(n))
		s.frames = append(s.frames, strange{1, transport.Header{A: 0x202, B: 1, C: 5}, body})
		m, err := e.Mprobe(none, engine.Match{Peer: 1, Tag: 1})
		require.NoError(t, err)
		require.Equal(t, n, m.Status().Bytes)
		_, err = m.Recv(none, 0, make([]byte, 100))
		var short *engine.TruncatedError
		require.ErrorAs(t, err, &short)
		require.Equal(t, n, short.Sent)
	}
}

// TestAnnouncedLengthIsNotBelieved checks that the announced length alone allocates nothing. The
// receive of a message that is longer than the default allocator of the engine allows, or that is
// too long for this machine, fails. A length that no machine can have makes the engine declare the
// sender to be down. In both cases all other operations continue.
func TestAnnouncedLengthIsNotBelieved(t *testing.T) {
	m := engine.Match{Peer: 1, Tag: 1}
	for how, receive := range map[string]func(s *stranger, e *engine.Engine, f strange) error{
		"posted": func(s *stranger, e *engine.Engine, f strange) error {
			s.frames = append(s.frames, f)
			_, err := e.RecvMessage(none, m)
			return err
		},
		"unexpected": func(s *stranger, e *engine.Engine, f strange) error {
			s.frames = append(s.frames, f)
			e.Iprobe(engine.Match{Peer: 2, Tag: 1})
			_, err := e.RecvMessage(none, m)
			return err
		},
	} {
		for _, n := range []uint64{1<<30 + 1, 1 << 40, 1 << 48, 1<<48 + 1, 1<<62 - 1, 1 << 62} {
			for _, a := range []uint64{0x202, 0x002} {
				t.Run(fmt.Sprintf("%s, %d bytes, %#x", how, n, a), func(t *testing.T) {
					s, e := newStranger(t)
					body := make([]byte, 24)
					binary.LittleEndian.PutUint64(body, n)
					err := receive(s, e, strange{1, transport.Header{A: a, B: 1, C: 5}, body})
					if n > 1<<48 {
						var lost *engine.PeerError
						require.ErrorAs(t, err, &lost)
						require.Equal(t, 1, lost.Rank)
						require.ErrorIs(t, err, engine.ErrProtocol)
					} else {
						var short *engine.MemoryError
						require.ErrorAs(t, err, &short)
						require.Equal(t, engine.MemoryError{Source: 1, Tag: 1, Bytes: int(n), Cause: short.Cause}, *short)
						require.NoError(t, e.Down(1))
						require.Equal(t, uint64(6), s.sent[len(s.sent)-1].A, "the sender hears that it has ended")
					}
					// The engine continues to work.
					require.NoError(t, e.Send(none, engine.Match{Peer: 2, Tag: 1}, 0, []byte("x"), engine.Standard))
					s.frames = append(s.frames, strange{2, transport.Header{A: 1, B: 1}, []byte("x")})
					_, err = e.Recv(none, engine.Match{Peer: 2, Tag: 1}, 0, make([]byte, 1))
					require.NoError(t, err)
					require.True(t, e.Idle())
				})
			}
		}
	}
}

// FuzzFrames sends arbitrary frames of a peer to an engine with operations of all kinds in
// progress. The engine may declare the peer to be down, and must continue.
//
// A frame of the script has 11 bytes and a body. The bytes are kind, flags, context, unused, tag, type, two
// unused, the highest and the lowest byte of the ID, and the length of the body.
func FuzzFrames(f *testing.F) {
	frame := func(kind, flags, tag, id byte, body ...byte) []byte {
		return append([]byte{kind, flags, 1, 0, tag, 0, 0, 0, 0, id, byte(len(body))}, body...)
	}
	envelope := func(n uint64) []byte { return binary.LittleEndian.AppendUint64(nil, n) }
	f.Add([]byte{1, 0, 1, 0, 0, 0, 1, 0, 0, 0, 3, 'a', 'b', 'c'})
	f.Add([]byte{2, 2, 1, 0, 0, 0, 1, 0, 0, 0, 24})
	f.Add([]byte{4, 2, 0, 0, 0, 0, 0, 0, 0, 1, 28, 50})
	f.Add([]byte{5, 0, 0, 0, 0, 0, 0, 0, 0, 2, 10})
	f.Add([]byte{17, 0, 0, 0, 0, 0, 0, 0, 0, 0, 44, 1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 'a'})
	for _, n := range []uint64{0, 1, 100, 64 << 10, 64<<10 + 1, 1 << 20, 1 << 40, 1 << 48, 1<<48 + 1, 1 << 62, 1<<62 + 1, 1<<64 - 1} {
		for _, flags := range []byte{0, 2, 4} {
			f.Add(frame(2, flags, 2, 7, append(envelope(n), make([]byte, 16)...)...))
		}
		f.Add(frame(3, 0, 2, 7, append(envelope(n), make([]byte, 16)...)...))
	}
	// A receive whose Gets have not started, and DATA that was not requested.
	f.Add(append(frame(2, 2, 1, 7, append(envelope(100), make([]byte, 16)...)...), frame(5, 0, 0, 3, make([]byte, 100)...)...))
	f.Fuzz(func(t *testing.T, script []byte) {
		s, e := newStrangerOf(t, func(c *engine.Config) {
			c.Allocate = func(n int) ([]byte, error) {
				if n > 1<<20 {
					return nil, errBroken
				}
				return make([]byte, n), nil
			}
		})
		hung := time.AfterFunc(20*time.Second, func() { panic(fmt.Sprintf("hung: %+v", e.Blocked())) })
		defer hung.Stop()
		m := engine.Match{Peer: 1, Tag: 1, Context: 1}
		rs := []engine.Handle{
			e.Isend(m, 0, make([]byte, 100), engine.Standard),
			e.Isend(m, 0, make([]byte, 8), engine.Synchronous),
			e.Irecv(m, 3, make([]byte, 100)),
			e.Irecv(engine.Match{Peer: engine.AnySource, Tag: engine.AnyTag, Context: 1}, 70, make([]byte, 20)),
		}
		var messages sync.WaitGroup
		take := func(receive func() (engine.Message, error)) {
			messages.Go(func() {
				if g, err := receive(); err == nil {
					clear(g.Bytes[:min(len(g.Bytes), g.Status.Bytes)])
					g.Release()
				}
			})
		}
		take(func() (engine.Message, error) {
			return e.RecvMessage(none, engine.Match{Peer: 1, Tag: 2, Context: 1})
		})
		for len(script) >= 11 {
			h := transport.Header{
				A: uint64(script[0]) | uint64(script[1])<<8 | uint64(script[2])<<32,
				B: uint64(script[4]) | uint64(script[5])<<32,
				C: uint64(script[9]) | uint64(script[8])<<24,
			}
			n := min(int(script[10]), len(script)-11)
			body := make([]byte, script[10])
			copy(body, script[11:11+n])
			script = script[11+n:]
			require.NoError(t, s.tell(e, strange{1, h, body}))
			g, ok, err := e.Improbe(engine.Match{Peer: engine.AnySource, Tag: engine.AnyTag, Context: 1})
			if ok && err == nil {
				rs = append(rs, g.Irecv(3, make([]byte, 100)))
			}
		}
		e.MarkDown(1, transport.ErrDamaged)
		for _, r := range rs {
			for range 100 {
				if _, ok, err := r.Test(); ok {
					if err != nil && errors.Is(err, engine.ErrCanceled) {
						t.Fatal("cancelled without a call of Cancel")
					}
					break
				}
			}
		}
		self := engine.Match{Peer: 0, Tag: 1}
		if err := e.Send(none, self, 0, nil, engine.Standard); err != nil {
			t.Fatal(err)
		}
		if _, err := e.Recv(none, self, 0, nil); err != nil {
			t.Fatal(err)
		}
		messages.Wait()
	})
}
