package transporttest

import (
	"fmt"
	"sync/atomic"
)

// The states of a guard.
const (
	guardIdle     = iota // no goroutine is in the transport
	guardInside          // one call is running
	guardCallback        // Poll is running and the handler has the floor
	guardNested          // Poll is running and the handler has called back
)

// guard finds callers that enter one transport concurrently, or from a callback
// where that is forbidden.
type guard struct {
	rank  int
	state atomic.Int32
	// calls is written without synchronisation on purpose: where two goroutines
	// take turns without a lock of their own, the race detector reports it.
	calls int
}

// enter opens a call that a handler may make too and returns the state to leave
// with.
func (g *guard) enter(op string) int32 {
	g.calls++
	if g.state.CompareAndSwap(guardIdle, guardInside) {
		return guardIdle
	}
	if g.state.CompareAndSwap(guardCallback, guardNested) {
		return guardCallback
	}
	panic(fmt.Sprintf("transporttest: rank %d: %s called while another call of the same transport is running", g.rank, op))
}

// enterAlone opens a call that a handler may not make.
func (g *guard) enterAlone(op string) {
	g.calls++
	if g.state.CompareAndSwap(guardIdle, guardInside) {
		return
	}
	if s := g.state.Load(); s == guardCallback || s == guardNested {
		panic(fmt.Sprintf("transporttest: rank %d: %s called from within a Handler", g.rank, op))
	}
	panic(fmt.Sprintf("transporttest: rank %d: %s called while another call of the same transport is running", g.rank, op))
}

// leave closes a call.
func (g *guard) leave(state int32) { g.state.Store(state) }

// call opens a callback; handed closes it.
func (g *guard) call() { g.state.Store(guardCallback) }

// handed closes a callback.
func (g *guard) handed() {
	if !g.state.CompareAndSwap(guardCallback, guardInside) {
		panic(fmt.Sprintf("transporttest: rank %d: a handler returned while a call it or another goroutine made was still running", g.rank))
	}
}
