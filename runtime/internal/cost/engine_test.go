package cost_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime/internal/engine"
	"github.com/gorun-hpc/gorun/transport"
)

// newEngines makes the engines of two ranks, with the wait policy of ranks that are processes.
func newEngines(tb testing.TB, discard bool, carried func()) [2]*engine.Engine {
	tb.Helper()
	w := newNetwork(tb, discard, carried)
	var engines [2]*engine.Engine
	for i, t := range w.transports {
		var err error
		engines[i], err = engine.New(engine.Config{
			Rank: i, Size: 2, Transports: []transport.Transport{t}, Route: func(int) transport.Transport { return t }, Sleeper: w.sleepers[i],
			Wait: engine.WaitPolicy{Spin: 20 * time.Microsecond, Yield: 100 * time.Microsecond},
		})
		require.NoError(tb, err)
	}
	for _, e := range engines {
		e.Start()
	}
	tb.Cleanup(func() {
		closed := make(chan error)
		for i, e := range engines {
			go func() { closed <- errors.Join(e.Close(), w.transports[i].Close()) }()
		}
		require.NoError(tb, errors.Join(<-closed, <-closed))
	})
	return engines
}

func engineMessages(tb testing.TB, n int, carried func()) *dialogue {
	tb.Helper()
	engines := newEngines(tb, false, carried)
	d := &dialogue{}
	for i, e := range engines {
		buf, peer := make([]byte, n), engine.Match{Peer: 1 - i, Tag: 1}
		d.send[i] = func() { check(e.Send(none, peer, 0, buf, engine.Standard)) }
		d.flush[i] = func() {
			_, _, err := e.Iprobe(peer)
			check(err)
		}
		var posted engine.Handle
		isPosted := false
		d.expect[i] = func() { posted, isPosted = e.Irecv(peer, 0, buf), true }
		d.receive[i] = func() {
			var err error
			if isPosted {
				isPosted = false
				_, err = posted.Wait(none)
			} else {
				_, err = e.Recv(none, peer, 0, buf)
			}
			check(err)
		}
	}
	return meet(d)
}

// none is a nil context: calls with it cannot be cancelled.
var none context.Context

// check ends the program if there is an error.
func check(err error) {
	if err != nil {
		panic(err)
	}
}

// meet exchanges the first messages. Each side runs on a goroutine of its own, because both are
// needed to connect.
func meet(d *dialogue) *dialogue {
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		d.send[0]()
		d.receive[0]()
	}()
	d.receive[1]()
	d.send[1]()
	<-sent
	return d
}

func engineReads(tb testing.TB, n, atOnce int) func() {
	tb.Helper()
	engines := newEngines(tb, true, nil)
	e, of := engines[0], engines[1]
	from, to := engine.Match{Peer: 1, Tag: 1}, engine.Match{Peer: 0, Tag: 1}
	out, in := make([]byte, n), make([]byte, n)
	sends, receives := make([]engine.Handle, atOnce), make([]engine.Handle, atOnce)
	read := func() {
		for i := range sends {
			receives[i] = e.Irecv(from, 0, in)
		}
		for i := range sends {
			sends[i] = of.Isend(to, 0, out, engine.Standard)
		}
		// Poll like a goroutine that waits at the end of a long stream. The poll sends
		// messages that wait to share a frame.
		_, _, err := of.Iprobe(to)
		check(err)
		for _, h := range [][]engine.Handle{receives, sends} {
			for i := range h {
				_, err := h[i].Wait(none)
				check(err)
			}
		}
	}
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		check(of.Send(none, to, 0, out[:1], engine.Standard))
	}()
	_, err := e.Recv(none, from, 0, in)
	check(err)
	<-sent
	return read
}
