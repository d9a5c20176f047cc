//go:build !race

package runtime_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime"
)

// The calls in the table, which send and receive small messages, allocate nothing, whether the requests are on the
// stack or on the heap.
func TestSmallMessagesDoNotAllocate(t *testing.T) {
	if testing.CoverMode() != "" {
		t.Skip("coverage counters keep functions from being inlined")
	}
	alone(t, func(c *runtime.Comm) {
		dup, err := c.Dup()
		require.NoError(t, err)
		ints, points := make([]int, 16), make([]point, 8)
		got := make([]point, 8)
		column := runtime.Strided{Count: 4, Block: 1, Stride: 2}
		send, recv := runtime.SendInit(c, ints, 0, 1), runtime.RecvInit(c, make([]int, 16), 0, 1)
		window = make([]runtime.Request, 2*100)
		post := func() {
			for i := 0; i < len(window); i += 2 {
				window[i] = runtime.Irecv(c, got, 0, 1)
				window[i+1] = runtime.Isend(c, points, 0, 1)
			}
		}
		for name, call := range map[string]func() error{
			"Send, Recv": func() error {
				_ = runtime.Send(c, points, 0, 1)
				return second(runtime.Recv(c, got, 0, 1))
			},
			"of a dup, with wildcards": func() error {
				_ = runtime.Send(dup, ints, 0, 1)
				return second(runtime.Recv(dup, ints, runtime.AnySource, runtime.AnyTag))
			},
			"SendRecv": func() error { return second(runtime.SendRecv(c, points, 0, 1, got, 0, 1)) },
			"Isend, Irecv, WaitAll": func() error {
				r := runtime.Irecv(c, got, 0, 1)
				return runtime.WaitAll([]runtime.Request{runtime.Isend(c, points, 0, 1), r})
			},
			"a window on the heap, WaitAll": func() error {
				post()
				return runtime.WaitAll(window)
			},
			"a window on the heap, WaitAny": func() error {
				post()
				for {
					if i, _, err := runtime.WaitAny(window); i == runtime.Undefined || err != nil {
						return err
					}
				}
			},
			"a window on the heap, TestAny, TestAll": func() error {
				post()
				_, _, _, _ = runtime.TestAny(window)
				_, err := runtime.TestAll(window)
				return err
			},
			"Issend, Done, Wait": func() error {
				window[0] = runtime.Issend(c, points, 0, 1)
				window[0].Done()
				_, _ = runtime.Recv(c, got, 0, 1)
				return second(window[0].Wait())
			},
			"Probe, Iprobe": func() error {
				_ = runtime.Send(c, ints, 0, 1)
				_, _ = runtime.Probe(c, 0, 1)
				_, _, _ = runtime.Iprobe(c, runtime.AnySource, 1)
				return second(runtime.Recv(c, ints, 0, 1))
			},
			"strided": func() error {
				_ = runtime.SendStrided(c, ints, column, 0, 1)
				return second(runtime.RecvStrided(c, ints, column, 0, 1))
			},
			"persistent": func() error {
				_ = runtime.StartAll([]*runtime.Persistent{recv, send})
				_, _ = send.Wait()
				return second(recv.Wait())
			},
		} {
			require.NoError(t, call(), name)
			require.Zero(t, testing.AllocsPerRun(200, func() { _ = call() }), name)
		}
	})
}

// window is a package variable so that its requests are on the heap.
var window []runtime.Request

// A ping-pong of small messages between two ranks allocates less than once per round.
func TestPingPongDoesNotAllocate(t *testing.T) {
	const rounds = 1000
	var allocs float64
	local(t, 2, func(c *runtime.Comm) {
		buf := make([]byte, 8)
		peer := 1 - c.Rank()
		if c.Rank() == 1 {
			for range rounds + 1 { // AllocsPerRun calls the function once more, to warm up
				_, _ = runtime.Recv(c, buf, peer, 0)
				_ = runtime.Send(c, buf, peer, 0)
			}
			return
		}
		allocs = testing.AllocsPerRun(rounds, func() {
			_ = runtime.Send(c, buf, peer, 0)
			_, _ = runtime.Recv(c, buf, peer, 0)
		})
	})
	// In a few of a thousand rounds, a goroutine sleeps on a channel and allocates once.
	require.Less(t, allocs, 1.0)
}
