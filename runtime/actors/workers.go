package actors

import (
	goruntime "runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorun-hpc/gorun/runtime/internal/engine"
)

const (
	// workersMax bounds the number of workers, which grows with the number of blocked actors.
	workersMax = 1 << 15
	// workersIdleMax is the number of idle workers that are kept.
	workersIdleMax = 16
	// stallTime is how long mailboxes wait while every worker runs an actor, before another
	// worker is added.
	stallTime = 2 * time.Millisecond
	// closeTime is how long close waits for actors that do not return.
	closeTime = time.Second
)

// workers run mailboxes: as many at a time as there are processors, and more if those block. They
// persist: new goroutines would have to grow their stacks for every burst of messages, which
// costs more than the messages.
type workers struct {
	s *System
	// pushed counts the calls of push.
	pushed atomic.Uint64

	// mu guards the fields below it.
	mu       sync.Mutex
	line     ring
	idle     int
	total    int
	guests   int    // servers that have not ended
	allowed  int    // workers that may exist
	turns    uint64 // number of turns so far
	watching bool   // the timer runs
	closing  bool
	wake     sync.Cond
	empty    chan struct{} // closed when closing and no worker is left
	running  map[uintptr]*worker
}

// worker is one goroutine.
type worker struct{ box *mailbox }

// newWorkers returns workers without goroutines.
func newWorkers(s *System) *workers {
	w := &workers{s: s, guests: serversTotal, allowed: goruntime.GOMAXPROCS(0), running: make(map[uintptr]*worker), empty: make(chan struct{})}
	w.wake.L = &w.mu
	return w
}

// push puts a mailbox in the queue.
func (w *workers) push(m *mailbox) {
	w.pushed.Add(1)
	w.mu.Lock()
	w.line.push(m)
	w.staff()
	w.mu.Unlock()
}

// staff finds a worker for the queue, which is not empty. mu is held.
func (w *workers) staff() {
	switch {
	case w.idle > 0:
		w.wake.Signal()
	case w.total < w.allowed && !w.closing:
		w.total++
		go w.s.world.Guard(w.work)
	case !w.watching && !w.closing:
		w.watch()
	}
}

// watch starts a timer of stallTime. If no turn has begun by then, another worker is added. mu is
// held.
func (w *workers) watch() {
	w.watching = true
	before := w.turns
	time.AfterFunc(stallTime, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.watching = false
		if w.line.n == 0 || w.closing {
			return
		}
		if w.turns == before && w.total < workersMax {
			w.allowed = max(w.allowed, w.total+1)
			w.total++
			go w.s.world.Guard(w.work)
		}
		w.watch()
	})
}

// work is the goroutine of a worker.
func (w *workers) work() {
	me := &worker{}
	g := engine.Goroutine()
	w.mu.Lock()
	w.running[g] = me
	for {
		for w.line.n == 0 && !w.closing {
			if w.idle >= workersIdleMax {
				w.end(g)
				return
			}
			w.idle++
			w.wake.Wait()
			w.idle--
		}
		if w.closing {
			w.end(g)
			return
		}
		m := w.line.pop()
		w.turns++ // before watch reads it
		if w.line.n > 0 {
			// Mailboxes that were pushed before this worker woke were assigned to it, too, and
			// this turn may block.
			w.staff()
		}
		w.turn(me, m)
	}
}

// turn runs a mailbox on the calling goroutine, which is me, and returns whether it is in the queue
// again. mu is held, except while the actor runs.
func (w *workers) turn(me *worker, m *mailbox) (again bool) {
	me.box = m
	w.mu.Unlock()
	again = m.run()
	w.mu.Lock()
	me.box = nil
	if again {
		w.line.push(m)
	}
	return again
}

// end ends a worker. mu is held, and released.
func (w *workers) end(g uintptr) {
	delete(w.running, g)
	w.total--
	w.allowed = max(goruntime.GOMAXPROCS(0), w.total)
	w.ended()
	w.mu.Unlock()
}

// ended tells close when the last worker has ended. mu is held.
func (w *workers) ended() {
	if w.closing && w.total+w.guests == 0 {
		close(w.empty)
	}
}

// enter adds the calling goroutine, which is me, to those that run actors, until leave.
func (w *workers) enter(me *worker) {
	w.mu.Lock()
	w.running[engine.Goroutine()] = me
	w.mu.Unlock()
}

// leave is the inverse of enter.
func (w *workers) leave() {
	w.mu.Lock()
	delete(w.running, engine.Goroutine())
	w.guests--
	w.ended()
	w.mu.Unlock()
}

// host runs a mailbox on a goroutine that has entered.
func (w *workers) host(me *worker, m *mailbox) {
	w.mu.Lock()
	w.turns++
	if w.turn(me, m) {
		w.staff()
	}
	w.mu.Unlock()
}

// close ends the workers. It waits for those that run an actor, at most closeTime.
func (w *workers) close() {
	w.mu.Lock()
	w.closing = true
	w.ended()
	w.wake.Broadcast()
	w.mu.Unlock()
	select {
	case <-w.empty:
	case <-time.After(closeTime):
	}
}

// box returns the mailbox that a goroutine runs, or nil if it is no worker.
func (w *workers) box(g uintptr) *mailbox {
	w.mu.Lock()
	defer w.mu.Unlock()
	if me := w.running[g]; me != nil {
		return me.box
	}
	return nil
}

// idle reports whether no actor of this rank is in a queue to run.
func (s *System) idle() bool {
	w := s.workers
	w.mu.Lock()
	queued := w.line.n > 0
	w.mu.Unlock()
	return !queued && !s.local.some.Load()
}

// boxes returns the mailboxes that are being run.
func (w *workers) boxes() []*mailbox {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []*mailbox
	for _, me := range w.running {
		if me.box != nil {
			all = append(all, me.box)
		}
	}
	return all
}

// ring is a queue of mailboxes.
type ring struct {
	slots   []*mailbox // a power of two
	head, n int
}

// push appends m.
func (r *ring) push(m *mailbox) {
	if r.n == len(r.slots) {
		more := make([]*mailbox, max(16, 2*len(r.slots)))
		for i := range r.n {
			more[i] = r.slots[(r.head+i)&(len(r.slots)-1)]
		}
		r.slots, r.head = more, 0
	}
	r.slots[(r.head+r.n)&(len(r.slots)-1)] = m
	r.n++
}

// pop removes and returns the first mailbox. The queue is not empty.
func (r *ring) pop() *mailbox {
	m := r.slots[r.head]
	r.slots[r.head] = nil
	r.head = (r.head + 1) & (len(r.slots) - 1)
	r.n--
	return m
}
