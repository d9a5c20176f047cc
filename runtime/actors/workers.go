package actors

import (
	goruntime "runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorun-hpc/gorun/runtime/internal/engine"
)

const (
	// workersMax is the largest number of workers. The number grows when actors block.
	workersMax = 1 << 15
	// workersIdleMax is the largest number of idle workers; further idle workers end.
	workersIdleMax = 16
	// stallTime is the time after which another worker is added if the queue is not empty and no worker has
	// taken a mailbox from it meanwhile.
	stallTime = 2 * time.Millisecond
	// closeTime is the longest time for which each of workers.close and servers.close waits for actors that do not return.
	closeTime = time.Second
)

// workers is a pool of goroutines that run mailboxes. It has more than GOMAXPROCS workers only if mailboxes
// were in the queue for stallTime and no worker took one of them meanwhile. The workers persist, because new
// goroutines would have to grow their stacks for every burst of messages. Growing the stacks costs more time
// than handling the messages.
type workers struct {
	s *System
	// pushed counts the calls of push.
	pushed atomic.Uint64

	// mu guards the fields below it.
	mu       sync.Mutex
	line     ring          // mailboxes that wait to be run
	idle     int           // workers that wait for a mailbox
	total    int           // workers that exist
	guests   int           // goroutines of servers that have not ended
	allowed  int           // workers that may exist
	turns    uint64        // number of mailboxes that workers have taken from line so far
	watching bool          // the timer that watch has started is running
	closing  bool          // close was called
	wake     sync.Cond     // idle workers wait here
	empty    chan struct{} // closed when closing is true and all workers and guests have ended
	running  map[uintptr]*worker
}

// worker is the state of one goroutine that runs mailboxes. box is the mailbox that it runs, or nil.
type worker struct{ box *mailbox }

// newWorkers returns a pool without workers.
func newWorkers(s *System) *workers {
	w := &workers{s: s, guests: serversTotal, allowed: goruntime.GOMAXPROCS(0), running: make(map[uintptr]*worker), empty: make(chan struct{})}
	w.wake.L = &w.mu
	return w
}

// push puts a mailbox in the queue, and finds a worker for it.
func (w *workers) push(m *mailbox) {
	w.pushed.Add(1)
	w.mu.Lock()
	w.line.push(m)
	w.staff()
	w.mu.Unlock()
}

// staff finds a worker for the queue, which is not empty. It wakes an idle worker, starts a new
// worker, or starts the timer that adds a worker later. mu is held.
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

// watch starts a timer of stallTime. If the queue is not empty when the timer fires, and no mailbox has been
// taken from it since watch started the timer, another worker is added. The timer repeats until the queue is
// empty. mu is held.
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

// work is the function of a worker's goroutine.
func (w *workers) work() {
	me := &worker{}
	g := engine.Goroutine()
	w.mu.Lock()
	defer w.end(g) // deferred, because an actor may call runtime.Goexit
	w.running[g] = me
	for {
		for w.line.n == 0 && !w.closing {
			if w.idle >= workersIdleMax {
				return
			}
			w.idle++
			w.wake.Wait()
			w.idle--
		}
		if w.closing {
			return
		}
		m := w.line.pop()
		w.turns++ // before staff, because watch reads it
		if w.line.n > 0 {
			// Several pushes may have woken only this worker, and this turn may block. So another
			// worker is needed for the rest of the queue.
			w.staff()
		}
		w.turn(me, m)
	}
}

// turn runs a mailbox on the calling goroutine, whose worker is me. It returns true if it has put the
// mailbox in the queue again. mu is held, except while the actor runs.
func (w *workers) turn(me *worker, m *mailbox) (again bool) {
	me.box = m
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		if me.box = nil; again {
			w.line.push(m)
		}
	}()
	again = m.run()
	return again
}

// end removes a worker from the pool; the worker's goroutine then ends. The caller holds mu; end
// releases it.
func (w *workers) end(g uintptr) {
	delete(w.running, g)
	w.total--
	w.allowed = max(goruntime.GOMAXPROCS(0), w.total)
	w.ended()
	w.mu.Unlock()
}

// ended notifies close if the last worker and the last guest have ended. mu is held.
func (w *workers) ended() {
	if w.closing && w.total+w.guests == 0 {
		close(w.empty)
	}
}

// enter records that the calling goroutine runs actors, until the goroutine calls leave. me is its
// worker.
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

// host runs a mailbox, which is not in the queue, on the calling goroutine, which has called enter. The run does
// not count in turns, because the queue gets no shorter.
func (w *workers) host(me *worker, m *mailbox) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.turn(me, m) {
		w.staff()
	}
}

// close ends the workers. It waits until all workers and guests have ended, but for at most closeTime. It
// reports whether they have ended.
func (w *workers) close() bool {
	w.mu.Lock()
	w.closing = true
	w.ended()
	w.wake.Broadcast()
	w.mu.Unlock()
	select {
	case <-w.empty:
		return true
	case <-time.After(closeTime):
		return false
	}
}

// box returns the mailbox that a goroutine runs, or nil if the goroutine runs none.
func (w *workers) box(g uintptr) *mailbox {
	w.mu.Lock()
	defer w.mu.Unlock()
	if me := w.running[g]; me != nil {
		return me.box
	}
	return nil
}

// idle reports whether no actor of this rank is in a queue to run, and no deferred task is queued.
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

// ring is a queue of mailboxes in a circular buffer.
type ring struct {
	slots   []*mailbox // its length is 0 or a power of two
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
