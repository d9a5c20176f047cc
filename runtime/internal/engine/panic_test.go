package engine_test

import (
	"context"
	"encoding/binary"
	"os"
	"runtime/debug"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/runtime/internal/engine"
	"github.com/gorun-hpc/gorun/transport"
)

// bomb implements a transport and all other callbacks that run under the engine's lock. The
// callback named in armed panics.
type bomb struct {
	*stranger
	transport.ChannelSleeper
	armed string
	// slept, if not nil, is called when a goroutine is about to sleep.
	slept func()
}

// burst is the type of the values with which a bomb panics.
type burst string

func (b *bomb) at(where string) {
	if b.armed == where {
		b.armed = ""
		panic(burst(where))
	}
}

func (b *bomb) Endpoint(int) (transport.Endpoint, error) { b.at("Endpoint"); return b, nil }
func (b *bomb) Caps() transport.Caps                     { b.at("Caps"); return b.stranger.Caps() }
func (b *bomb) Arm() bool                                { b.at("Arm"); return true }
func (b *bomb) Disarm()                                  { b.at("Disarm") }
func (b *bomb) Conceal(transport.Key) error              { b.at("Conceal"); return nil }
func (b *bomb) GiveUp(peer int, err error)               { b.at("GiveUp"); b.stranger.GiveUp(peer, err) }
func (b *bomb) Yield()                                   { b.at("Yield"); b.ChannelSleeper.Yield() }
func (b *bomb) Prepare() uint32                          { b.at("Prepare"); return b.ChannelSleeper.Prepare() }

func (b *bomb) Sleep(ticket uint32, nanos int64) {
	b.at("Sleep")
	if b.slept != nil {
		b.slept()
	}
	b.ChannelSleeper.Sleep(ticket, nanos)
}

func (b *bomb) Expose(x []byte, a transport.Access) (transport.Key, error) {
	b.at("Expose")
	return b.stranger.Expose(x, a)
}

func (b *bomb) Send(h transport.Header, x []byte) error {
	b.at("Send")
	return b.stranger.Send(h, x)
}

func (b *bomb) Get(x []byte, k transport.Key, token uint64) error {
	b.at("Get")
	return b.stranger.Get(x, k, token)
}

func (b *bomb) Map(k transport.Key, n int) ([]byte, error) {
	b.at("Map")
	return b.stranger.Map(k, n)
}

func (b *bomb) Poll(h transport.Handler, n int) (int, error) {
	b.at("Poll")
	return b.stranger.Poll(h, n)
}

// These methods implement engine.ActorReceiver.
func (b *bomb) ActorMessage(int, engine.ActorMessage, []byte, *engine.Message) { b.at("ActorMessage") }
func (b *bomb) Credit(*engine.Stream)                                          { b.at("Credit") }
func (b *bomb) Refused(*engine.Stream, engine.ActorMessage, []byte)            { b.at("Refused") }
func (b *bomb) Closed(int, uint32)                                             { b.at("Closed") }
func (b *bomb) Lost(int, error)                                                { b.at("Lost of the actor receiver") }

func newBomb(tb testing.TB) (*bomb, *engine.Engine) {
	tb.Helper()
	b := &bomb{stranger: &stranger{
		caps:     transport.Caps{MaxEager: 256, EagerBest: 64, Get: true, Handover: true, MaxReads: 2},
		reported: map[int]bool{},
	}}
	e, err := engine.New(engine.Config{
		Size: 4, Route: func(int) transport.Transport { return b }, Transports: []transport.Transport{b}, Sleeper: b,
		TypeName: func(engine.Type) string { b.at("TypeName"); return "t" },
		Member:   func(uint32, int) bool { b.at("Member"); return true },
		Lost:     func(int, error) { b.at("Lost") },
		Release:  func(int, uint64) { b.at("Release") },
		Notice:   func(int, int, []byte) { b.at("Notice") },
		Allocate: func(n int) ([]byte, error) { b.at("Allocate"); return make([]byte, n), nil },
	})
	require.NoError(tb, err)
	tb.Cleanup(func() { e.Close() })
	return b, e
}

// announce makes rank 1 send an envelope, or another frame with 24 bytes.
func (b *bomb) announce(a uint64, length int) {
	body := make([]byte, 24)
	binary.LittleEndian.PutUint64(body, uint64(length))
	b.frames = append(b.frames, strange{1, transport.Header{A: a, B: 1, C: 5}, body})
}

// TestNoPanicLeavesTheLockTaken causes a panic in each callback that runs under the engine's lock.
// Afterwards, calls of the engine by another goroutine must either work or return the error that a
// panic ended the engine.
func TestNoPanicLeavesTheLockTaken(t *testing.T) {
	m := engine.Match{Peer: 1, Tag: 1}
	never := func() bool { return false }
	iprobe := func(_ *bomb, e *engine.Engine) { e.Iprobe(m) }
	receive := func(_ *bomb, e *engine.Engine) { e.Recv(none, m, 0, make([]byte, 1000)) }
	message := func(_ *bomb, e *engine.Engine) { e.RecvMessage(none, m) }
	stream := func(b *bomb, e *engine.Engine) *engine.Stream {
		e.SetActorReceiver(b)
		l, err := e.NewStream(1, nil, nil, nil)
		require.NoError(t, err)
		return l
	}
	for _, c := range []struct {
		where   string
		prepare func(b *bomb, e *engine.Engine)
		act     func(b *bomb, e *engine.Engine)
	}{
		{"Poll", nil, receive},
		{"Poll", nil, iprobe},
		{"Poll", nil, func(_ *bomb, e *engine.Engine) { e.Irecv(m, 0, nil).Test() }},
		{"Poll", nil, func(_ *bomb, e *engine.Engine) { e.Irecv(m, 0, nil).Look() }},
		{"Poll", nil, func(_ *bomb, e *engine.Engine) { e.WaitAll(none, []engine.Handle{e.Irecv(m, 0, nil)}) }},
		{"Poll", nil, func(_ *bomb, e *engine.Engine) { waitAny(none, e, e.Irecv(m, 0, nil)) }},
		{"Poll", nil, func(_ *bomb, e *engine.Engine) { e.Improbe(m) }},
		{"Poll", nil, func(_ *bomb, e *engine.Engine) { e.Probe(none, m) }},
		{"Poll", nil, func(_ *bomb, e *engine.Engine) { e.Await(none, never, "word") }},
		{"Arm", nil, receive},
		{"Prepare", nil, receive},
		{"Yield", nil, receive},
		{"Sleep", nil, receive},
		{"Disarm", nil, func(b *bomb, e *engine.Engine) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			b.slept = cancel // cancels after the transports are armed
			e.Recv(ctx, m, 0, nil)
		}},
		{"Endpoint", nil, func(_ *bomb, e *engine.Engine) { e.Send(none, m, 0, nil, engine.Standard) }},
		{"Caps", nil, func(_ *bomb, e *engine.Engine) { e.Send(none, m, 0, nil, engine.Standard) }},
		{"Send", nil, func(_ *bomb, e *engine.Engine) { e.Send(none, m, 0, nil, engine.Standard) }},
		{"Send", func(_ *bomb, e *engine.Engine) { e.Send(none, m, 0, nil, engine.Standard) }, func(_ *bomb, e *engine.Engine) {
			e.Isend(m, 0, nil, engine.Standard)
		}},
		{"Send", nil, func(_ *bomb, e *engine.Engine) { e.Notify(1, 1, nil) }},
		{"Send", nil, func(_ *bomb, e *engine.Engine) { e.SendHandover(none, m, 0, transport.Key{}, nil) }},
		{"Expose", nil, func(_ *bomb, e *engine.Engine) { e.Isend(m, 0, make([]byte, 1000), engine.Standard) }},
		{"Conceal", nil, func(b *bomb, e *engine.Engine) {
			h := e.Isend(m, 0, make([]byte, 1000), engine.Standard)
			b.frames = append(b.frames, strange{1, transport.Header{A: 6, C: uint64(uint32(b.sent[len(b.sent)-1].C))}, nil})
			h.Wait(none)
		}},
		{"Get", func(b *bomb, _ *engine.Engine) { b.announce(0x202, 1000) }, receive},
		{"Map", func(b *bomb, _ *engine.Engine) { b.announce(3, 1000) }, receive},
		{"Allocate", func(b *bomb, _ *engine.Engine) { b.announce(0x202, 1<<20) }, message},
		{"TypeName", nil, func(_ *bomb, e *engine.Engine) { e.Send(none, m, 70, nil, engine.Standard) }},
		{"Member", func(b *bomb, _ *engine.Engine) { b.down = append(b.down, 1) }, func(_ *bomb, e *engine.Engine) {
			e.Recv(none, engine.Match{Peer: engine.AnySource, Tag: 1}, 0, nil)
		}},
		{"Lost", func(b *bomb, _ *engine.Engine) { b.down = append(b.down, 1) }, iprobe},
		{"GiveUp", func(b *bomb, _ *engine.Engine) { b.announce(200, 0) }, iprobe},
		{"Release", nil, func(_ *bomb, e *engine.Engine) {
			self := engine.Match{Peer: 0, Tag: 1}
			_, err := e.SendHandover(none, self, 0, transport.Key{}, nil)
			require.NoError(t, err)
			g, err := e.RecvMessage(none, self)
			require.NoError(t, err)
			g.Release()
		}},
		{"Notice", func(b *bomb, _ *engine.Engine) { b.announce(13, 0) }, iprobe},
		{"ActorMessage", func(b *bomb, e *engine.Engine) { b.announce(14, 0); e.Iprobe(m) }, func(b *bomb, e *engine.Engine) { e.SetActorReceiver(b) }},
		{"ActorMessage", func(b *bomb, e *engine.Engine) { e.SetActorReceiver(b); b.announce(14, 0) }, iprobe},
		{"Refused", func(b *bomb, e *engine.Engine) {
			b.frames = append(b.frames, strange{1, transport.Header{A: 16 | uint64(stream(b, e).Number())<<32}, nil})
		}, iprobe},
		{"Closed", func(b *bomb, e *engine.Engine) { e.SetActorReceiver(b); b.announce(18, 0) }, iprobe},
		{"Lost of the actor receiver", func(b *bomb, e *engine.Engine) { e.SetActorReceiver(b); b.down = append(b.down, 1) }, iprobe},
		{"done", nil, func(b *bomb, e *engine.Engine) { e.Await(none, func() bool { b.at("done"); return false }, "word") }},
		{"ready", nil, func(b *bomb, e *engine.Engine) {
			ready := func() bool { b.at("ready"); return false }
			e.Serve(ready, ready, func() engine.Next { return engine.Stay })
		}},
		{"work", nil, func(b *bomb, e *engine.Engine) {
			ready := func() bool { return true }
			e.Serve(ready, ready, func() engine.Next { b.at("work"); return engine.Stay })
		}},
		{"at", nil, func(b *bomb, e *engine.Engine) {
			e.WaitAny(none, 1, func(int) engine.Handle { b.at("at"); return engine.Handle{} })
		}},
	} {
		t.Run(c.where, func(t *testing.T) {
			b, e := newBomb(t)
			if c.prepare != nil {
				c.prepare(b, e)
			}
			b.armed = c.where
			require.PanicsWithValue(t, burst(c.where), func() { c.act(b, e) })
			answers(t, e)
		})
	}
}

// answers checks that a send, a receive, Iprobe and Blocked return, the first two with success or
// with the error that a panic ended the engine.
func answers(t *testing.T, e *engine.Engine) {
	t.Helper()
	done := make(chan error, 1)
	go func() {
		self := engine.Match{Peer: 0, Tag: 9}
		r := e.Irecv(self, 0, make([]byte, 1))
		err := e.Send(none, self, 0, []byte("x"), engine.Synchronous)
		if _, err2 := r.Wait(none); err == nil {
			err = err2
		}
		e.Iprobe(self)
		e.Blocked()
		done <- err
	}()
	select {
	case err := <-done:
		if err != nil {
			require.ErrorIs(t, err, engine.ErrPanicked)
		}
	case <-time.After(30 * time.Second):
		require.Fail(t, "the engine does not answer")
	}
}

// TestWhoWaitsHearsOfThePanicOfThePoller causes a panic in the goroutine that polls for others. The
// other goroutines must not wait for ever, and operations whose bytes a transport moves must end.
func TestWhoWaitsHearsOfThePanicOfThePoller(t *testing.T) {
	b, e := newBomb(t)
	m := engine.Match{Peer: 1, Tag: 1}
	moving := e.Irecv(m, 0, make([]byte, 1000))
	b.announce(0x202, 1000)
	e.Iprobe(engine.Match{Peer: 2, Tag: 1})
	b.done = nil // the Get does not complete
	require.False(t, moving.Look())
	armed, ends := make(chan bool), make(chan error, 3)
	poller := make(chan any, 1)
	go func() {
		defer func() { poller <- recover() }()
		self := engine.Goroutine()
		e.Await(none, func() bool {
			select {
			case <-armed:
				// Other goroutines call this function too.
				if engine.Goroutine() == self {
					panic(burst("done"))
				}
			default:
			}
			return false
		}, "the poller")
	}()
	blocked := func(n int) {
		for len(e.Blocked()) < n {
			time.Sleep(100 * time.Microsecond) // interval between two checks
		}
	}
	blocked(1)
	go func() { _, err := e.Recv(none, m, 0, nil); ends <- err }()
	go func() { _, err := moving.Wait(none); ends <- err }()
	go func() { ends <- e.Await(none, func() bool { return false }, "word") }()
	blocked(4)
	close(armed)
	e.Rouse()
	require.Equal(t, burst("done"), <-poller)
	for range 3 {
		require.ErrorIs(t, <-ends, engine.ErrPanicked)
	}
	require.ErrorIs(t, e.Send(none, m, 0, nil, engine.Standard), engine.ErrPanicked)
}

// TestMemoryThatFaultsDoesNotLeaveTheLockTaken accesses a mapping whose file was truncated. With
// debug.SetPanicOnFault, the access panics under the engine's lock.
func TestMemoryThatFaultsDoesNotLeaveTheLockTaken(t *testing.T) {
	f, err := os.CreateTemp(t.TempDir(), "cut")
	require.NoError(t, err)
	defer f.Close()
	require.NoError(t, f.Truncate(1<<16))
	gone, err := unix.Mmap(int(f.Fd()), 0, 1<<16, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	require.NoError(t, err)
	defer unix.Munmap(gone)
	require.NoError(t, f.Truncate(0))
	for name, act := range map[string]func(e *engine.Engine){
		"send":    func(e *engine.Engine) { e.Send(none, engine.Match{Peer: 1, Tag: 1}, 0, gone[:8], engine.Standard) },
		"to self": func(e *engine.Engine) { e.Send(none, engine.Match{Peer: 0, Tag: 1}, 0, gone[:8], engine.Standard) },
		"receive": func(e *engine.Engine) {
			self := engine.Match{Peer: 0, Tag: 1}
			require.NoError(t, e.Send(none, self, 0, []byte("12345678"), engine.Standard))
			e.Recv(none, self, 0, gone[:8])
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := newMirrored(t)
			func() {
				defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
				defer func() { require.NotNil(t, recover()) }()
				act(e)
			}()
			answers(t, e)
		})
	}
}
