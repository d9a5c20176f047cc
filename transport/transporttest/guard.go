package transporttest

import (
	"fmt"
	"sync/atomic"
)

// These constants are the states of a guard.
const (
	guardIdle     = iota // no goroutine is in the transport
	guardInside          // one call is running
	guardCallback        // Poll is running and has called the handler
	guardNested          // Poll is running and the handler has called the transport
)

// guard detects concurrent calls of one transport. It also detects a call from within a callback if
// the contract forbids callbacks to make that call.
type guard struct {
	rank  int
	state atomic.Int32
	// calls is intentionally written without synchronization. If two goroutines call the transport
	// one after the other, and no lock of the caller orders the calls, the race detector reports this
	// field.
	calls int
}

// enter begins a call that a handler may also make. It returns the state that the caller has to pass
// to leave.
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

// enterAlone begins a call that a handler may not make.
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

// leave ends a call.
func (g *guard) leave(state int32) { g.state.Store(state) }

// call begins a callback of the handler; handed ends it.
func (g *guard) call() { g.state.Store(guardCallback) }

// handed ends a callback.
func (g *guard) handed() {
	if !g.state.CompareAndSwap(guardCallback, guardInside) {
		panic(fmt.Sprintf("transporttest: rank %d: a Handler returned while a call of the same transport, made by the Handler or by another goroutine, was still running", g.rank))
	}
}
