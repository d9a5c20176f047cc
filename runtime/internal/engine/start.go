package engine

import (
	"context"
	"runtime/pprof"
	"sync"
)

// Go runs f on another goroutine. Until the goroutine runs, pollers of this rank let other goroutines run. Otherwise
// a rank with a single processor of Go would spin in a wait for what f is about to do.
func (e *Engine) Go(f func()) {
	e.crowd.Add(1)
	if w := e.workers.take(); w != nil {
		w <- f
		return
	}
	go e.runWork(f)
}

// runWork runs f, and then the functions for which Engine.Go takes this goroutine.
func (e *Engine) runWork(f func()) {
	w := make(worker, 1)
	for f != nil {
		e.crowd.Add(-1)
		pprof.SetGoroutineLabels(context.Background()) // instead of those of the previous function
		f()
		if !e.workers.put(w) {
			return
		}
		f = <-w
	}
}

// worker is the channel on which a goroutine waits for its next function; nil ends the goroutine. A new goroutine
// for each operation would have to grow its stack, which takes longer than a short operation.
type worker chan func()

// workersMax is the largest number of idle workers of an engine.
const workersMax = 4

// workers are the idle workers of an engine.
type workers struct {
	lock   sync.Mutex // guards everything below
	idle   []worker
	closed bool
}

// take returns an idle worker, or nil if there is none.
func (w *workers) take() worker {
	w.lock.Lock()
	defer w.lock.Unlock()
	last := len(w.idle) - 1
	if last < 0 {
		return nil
	}
	one := w.idle[last]
	w.idle = w.idle[:last]
	return one
}

// put adds an idle worker. It returns false if the worker has to end.
func (w *workers) put(one worker) bool {
	w.lock.Lock()
	defer w.lock.Unlock()
	if w.closed || len(w.idle) == workersMax {
		return false
	}
	w.idle = append(w.idle, one)
	return true
}

// close ends the idle workers. Each other worker ends after the function that it runs.
func (w *workers) close() {
	w.lock.Lock()
	defer w.lock.Unlock()
	for _, one := range w.idle {
		one <- nil
	}
	w.idle, w.closed = nil, true
}
