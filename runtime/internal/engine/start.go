package engine

import (
	"context"
	"runtime/pprof"
	"sync"
	"sync/atomic"
)

// Work is a function that a goroutine of the engine calls, unless another goroutine takes it first. The caller of
// Engine.Go sets Run. A Work is used once and must not be copied after Go.
type Work struct {
	Run   func()
	taken atomic.Bool
}

// Go lets another goroutine call w.Run. Until a goroutine takes w, pollers of this rank let other goroutines run.
// Otherwise a rank with a single processor of Go would spin in a wait for what the function is about to do.
func (e *Engine) Go(w *Work) {
	e.crowd.Add(1)
	e.workers.add(e, w)
}

// Take reports whether the caller is the first to take w. If so, the caller has to call w.Run. No goroutine of the
// engine calls it then.
func (e *Engine) Take(w *Work) bool {
	if !w.taken.CompareAndSwap(false, true) {
		return false
	}
	e.crowd.Add(-1)
	return true
}

// runWork calls the functions of works until there is none to do and the goroutine is not needed any more.
func (e *Engine) runWork() {
	for me := make(worker, 1); ; {
		if w := e.workers.next(e); w != nil {
			pprof.SetGoroutineLabels(context.Background()) // instead of those of the previous function
			w.Run()
		}
		if !e.workers.put(me) || !<-me {
			return
		}
	}
}

// worker is the channel on which an idle goroutine waits until it is woken; false ends the goroutine. A new
// goroutine for each Work would have to grow its stack, which takes longer than a short operation.
type worker chan bool

// workersMax is the largest number of idle workers of an engine.
const workersMax = 4

// workers has the queue of works, and the idle goroutines that can run them. When a work is queued, a goroutine is
// woken, unless a woken goroutine has not run yet. When the goroutine runs, it takes one work, and wakes the next
// goroutine if there are more. So if a waiting goroutine takes each work soon after it was queued, several works
// cost only one wake-up.
type workers struct {
	lock   sync.Mutex // guards everything below
	queue  []*Work    // some of them may be taken
	woken  bool       // a goroutine was woken or started, and has not called next yet
	idle   []worker
	closed bool
}

// add queues w and wakes a goroutine if none is woken.
func (q *workers) add(e *Engine, w *Work) {
	q.lock.Lock()
	defer q.lock.Unlock()
	q.prune()
	q.queue = append(q.queue, w)
	if !q.woken {
		q.wake(e)
	}
}

// prune removes the works at the end of the queue that are taken.
func (q *workers) prune() {
	for n := len(q.queue); n > 0 && q.queue[n-1].taken.Load(); n-- {
		q.queue[n-1] = nil
		q.queue = q.queue[:n-1]
	}
}

// wake wakes an idle goroutine or starts one. The lock is held.
func (q *workers) wake(e *Engine) {
	q.woken = true
	last := len(q.idle) - 1
	if last < 0 {
		go e.runWork()
		return
	}
	q.idle[last] <- true // has room for one value
	q.idle = q.idle[:last]
}

// next takes the oldest work for the goroutine that was woken. It returns nil if all are taken. If more works are
// queued, it wakes another goroutine.
func (q *workers) next(e *Engine) *Work {
	q.lock.Lock()
	defer q.lock.Unlock()
	q.woken = false
	for len(q.queue) > 0 {
		w := q.queue[0]
		q.queue[0] = nil
		q.queue = q.queue[1:]
		if !e.Take(w) {
			continue
		}
		if q.prune(); len(q.queue) > 0 {
			q.wake(e)
		}
		return w
	}
	q.queue = nil
	return nil
}

// put adds an idle worker. It returns false if the worker has to end.
func (q *workers) put(one worker) bool {
	q.lock.Lock()
	defer q.lock.Unlock()
	if q.closed || len(q.idle) == workersMax {
		return false
	}
	q.idle = append(q.idle, one)
	return true
}

// close ends the idle workers. Each other worker ends after the function that it runs.
func (q *workers) close() {
	q.lock.Lock()
	defer q.lock.Unlock()
	for _, one := range q.idle {
		one <- false
	}
	q.idle, q.closed = nil, true
}
