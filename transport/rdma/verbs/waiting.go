package verbs

import (
	"context"
	"sync"
)

// waiting coordinates the goroutines that are suspended until an entry is queued. One of them,
// the sleeper, is in Device.Sleep and makes progress for all when it wakes. The others are
// parked: each waits on its channel. When the sleeper leaves, it wakes a parked goroutine, which
// becomes the sleeper.
type waiting struct {
	// dirty is true if, since the last wake, a queue that is armed or has waiting goroutines
	// has changed or a queue has died.
	dirty bool
	// sleeper is the goroutine in Device.Sleep, or nil. left is signalled when the goroutine
	// has returned from there; Adapter.Close waits for that.
	sleeper *waiter
	left    sync.Cond
	parked  []*waiter
	// sentry is the goroutine that sleeps on behalf of armed queues. It exists from the first
	// Arm to Adapter.Close, and closes exited when it ends. armed counts the armed queues.
	sentry *waiter
	armed  int
	exited chan struct{}
}

// waiter is a goroutine in Wait, or the sentry, whose queue is nil.
type waiter struct {
	queue     *CompletionQueue
	threshold int
	// wake is the channel on which a parked goroutine waits. It has room for one token.
	wake chan struct{}
}

// Wait blocks until at least threshold entries are queued and at least one of them is an entry
// that wakes. All entries wake except those of successful work with FlagQuiet and, with
// CompletionSolicitedWait, those of unsolicited messages. While it blocks, Wait makes progress
// itself or leaves that to another waiter of the adapter. If the context ends or the queue dies
// first, it returns the error of the context or of the queue (see Err). Queued entries then stay
// queued.
func (q *CompletionQueue) Wait(ctx context.Context, threshold int) error {
	const op = "wait"
	a := q.adapter
	a.mu.Lock()
	defer a.unlock()
	if threshold < 1 || threshold > len(q.entries) {
		return a.err(op, ErrInvalidParameter)
	}
	w := &waiter{queue: q, threshold: threshold, wake: make(chan struct{}, 1)}
	q.waiters++
	defer a.leave(w)
	for !w.satisfied() {
		if q.failure != nil {
			return q.failure
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if a.drive() == 0 && !w.satisfied() && q.failure == nil {
			a.sleep(ctx, w)
		} else {
			a.pause()
		}
	}
	return nil
}

// pause releases the lock for a moment, so that other goroutines can take it, and wakes the
// goroutines that the last step concerns.
func (a *Adapter) pause() {
	a.unlock()
	a.mu.Lock()
}

// satisfied reports whether the entries that the waiter waits for are queued.
func (w *waiter) satisfied() bool {
	return w.queue != nil && w.queue.count >= w.threshold && w.queue.notifying > 0
}

// leave ends a Wait. If there is no sleeper now, it wakes a parked goroutine to become it.
func (a *Adapter) leave(w *waiter) {
	w.queue.waiters--
	a.handOver()
}

// handOver wakes a parked waiter when no goroutine is in Device.Sleep.
func (a *Adapter) handOver() {
	if a.waiting.sleeper != nil || len(a.waiting.parked) == 0 {
		return
	}
	a.waiting.parked[0].signal()
}

// signal puts a token into wake, unless one is there.
func (w *waiter) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// sleep releases the lock, suspends the goroutine, and takes the lock again. The goroutine
// becomes the sleeper, which sleeps in the kernel, or parks on its channel if there is a sleeper.
func (a *Adapter) sleep(ctx context.Context, w *waiter) {
	if a.waiting.sleeper == nil {
		if !a.device.Idle() {
			a.pause()
			return
		}
		a.waiting.sleeper = w
		until := a.deadlines.earliest
		a.unlock()
		stop := func() bool { return true }
		if ctx.Done() != nil {
			stop = context.AfterFunc(ctx, a.interrupt)
		}
		a.device.Sleep(until)
		stop()
		a.mu.Lock()
		a.waiting.sleeper = nil
		a.waiting.left.Broadcast()
		return
	}
	a.waiting.parked = append(a.waiting.parked, w)
	a.unlock()
	select {
	case <-w.wake:
	case <-ctx.Done():
	}
	a.mu.Lock()
	for i, p := range a.waiting.parked {
		if p == w {
			a.waiting.parked = append(a.waiting.parked[:i], a.waiting.parked[i+1:]...)
			break
		}
	}
}

// nudge wakes the sleeper, if there is one, because it would sleep too long or is no longer
// needed.
func (a *Adapter) nudge() {
	if a.waiting.sleeper != nil {
		a.device.Wake()
	}
}

// interrupt wakes the sleeper because its context has ended. It may run after Adapter.Close.
func (a *Adapter) interrupt() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.closed {
		a.device.Wake()
	}
}

// wake wakes the goroutines that the changes since the last call concern. It disarms each armed
// queue that is dead or holds an entry that wakes, and returns the functions of these queues.
// The caller calls them once it has released the lock.
func (a *Adapter) wake() []func() {
	a.waiting.dirty = false
	concerns := func(w *waiter) bool { return w.queue != nil && (w.satisfied() || w.queue.failure != nil) }
	for _, w := range a.waiting.parked {
		if concerns(w) {
			w.signal()
		}
	}
	if s := a.waiting.sleeper; s != nil && concerns(s) {
		a.device.Wake()
	}
	var rings []func()
	if a.waiting.armed > 0 {
		for q := range a.queues {
			if q.ring != nil && (q.notifying > 0 || q.failure != nil) {
				rings = append(rings, q.ring)
				q.ring = nil
				a.waiting.armed--
			}
		}
	}
	return rings
}

// Arm requests one call of ring for the time when an entry that wakes is queued or the queue
// dies (ibv_req_notify_cq(3)). If such an entry is queued already, or the queue is dead, Arm
// returns false and does not arm the queue. While a queue is armed, a goroutine of the adapter
// sleeps in the kernel and makes progress. ring is called on that goroutine or on any other that
// uses the adapter. It is called without the lock, and may call anything but Adapter.Close. A
// later Arm replaces an earlier one.
func (q *CompletionQueue) Arm(ring func()) bool {
	a := q.adapter
	a.mu.Lock()
	defer a.unlock()
	if q.notifying > 0 || q.failure != nil || a.closed {
		return false
	}
	if q.ring == nil {
		a.waiting.armed++
	}
	q.ring = ring
	if a.waiting.sentry == nil {
		a.waiting.sentry = &waiter{wake: make(chan struct{}, 1)}
		a.waiting.exited = make(chan struct{})
		go a.stand()
	}
	a.waiting.sentry.signal()
	return true
}

// Disarm cancels Arm. A call of ring that is already under way may still come. If the queue is
// not armed, Disarm does nothing.
func (q *CompletionQueue) Disarm() {
	a := q.adapter
	a.mu.Lock()
	defer a.unlock()
	if q.ring == nil {
		return
	}
	q.ring = nil
	if a.waiting.armed--; a.waiting.armed == 0 && a.waiting.sleeper == a.waiting.sentry {
		a.nudge()
	}
}

// stand is the function of the sentry's goroutine. While a queue is armed, it makes progress and
// sleeps; otherwise it waits on its channel.
func (a *Adapter) stand() {
	defer close(a.waiting.exited)
	w := a.waiting.sentry
	a.mu.Lock()
	defer a.unlock()
	for !a.closed {
		if a.waiting.armed == 0 {
			a.handOver()
			a.unlock()
			<-w.wake
			a.mu.Lock()
			continue
		}
		if a.drive() == 0 && !a.waiting.dirty {
			a.sleep(context.Background(), w)
		} else {
			a.pause()
		}
	}
}

// stopWaiting wakes the parked goroutines, waits until no goroutine is in Device.Sleep, and ends
// the sentry. The caller holds the lock, which stopWaiting releases while it waits.
func (a *Adapter) stopWaiting() {
	for _, w := range a.waiting.parked {
		w.signal()
	}
	for a.waiting.sleeper != nil {
		a.device.Wake()
		a.waiting.left.Wait()
	}
	if w := a.waiting.sentry; w != nil {
		w.signal()
		a.mu.Unlock()
		<-a.waiting.exited
		a.mu.Lock()
	}
}
