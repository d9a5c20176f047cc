package verbs

import (
	"context"
	"sync"
)

// waiting is how goroutines sleep until something comes. One of them, the sleeper,
// is in Device.Sleep and makes progress for all when it wakes; the others park on
// channels. A sleeper that leaves wakes a parked one to take its place.
type waiting struct {
	// dirty says that a queue with waiting goroutines has changed since the last wake.
	dirty bool
	// sleeper is the one in Device.Sleep, or nil; left tells Close that it came out.
	sleeper *waiter
	left    sync.Cond
	parked  []*waiter
	// sentry is the goroutine that sleeps for queues that are armed; it exists from
	// the first Arm to Close.
	sentry *waiter
	armed  int
	exited chan struct{}
}

// waiter is a goroutine in Wait, or the sentry, whose queue is nil.
type waiter struct {
	queue     *CompletionQueue
	threshold int
	// wake has room for one token.
	wake chan struct{}
}

// Wait sleeps until at least threshold entries are queued, one of which wakes (all
// do but those of FlagQuiet and, with CompletionSolicitedWait, of unsolicited
// messages). It makes progress itself, or leaves that to another waiter of the
// adapter. It returns the error of the context or of the queue (see Err); entries
// that are queued are lost by neither.
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

// pause lets others at the lock, and rings whom the last step concerns.
func (a *Adapter) pause() {
	a.unlock()
	a.mu.Lock()
}

// satisfied reports whether a waiter may go.
func (w *waiter) satisfied() bool {
	return w.queue != nil && w.queue.count >= w.threshold && w.queue.notifying > 0
}

// leave ends a Wait and hands the place of the sleeper on.
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

// signal leaves a token.
func (w *waiter) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// sleep releases the lock, sleeps in the kernel or, when another goroutine does already, on
// a channel, and takes the lock again.
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

// nudge wakes the sleeper because it would sleep too long, or is not needed.
func (a *Adapter) nudge() {
	if a.waiting.sleeper != nil {
		a.device.Wake()
	}
}

// interrupt ends the sleep for a context. It may come late, after Close.
func (a *Adapter) interrupt() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.closed {
		a.device.Wake()
	}
}

// wake wakes whom the changes since the last call concern, and returns the armed
// functions to call once the lock is released.
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

// Arm asks for one call of ring when something comes into the queue that wakes
// (ibv_req_notify_cq(3)). It returns false, with nothing armed, when something of
// that kind is queued already or the queue is dead. While a queue is armed, a
// goroutine of the adapter sleeps in the kernel and makes progress; ring is called
// on it or on any goroutine that makes progress, without a lock, and may call
// anything but Adapter.Close. A later Arm replaces an earlier one.
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

// Disarm takes Arm back. A ring that is under way may still come. It may be called
// when nothing is armed.
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

// stand is the sentry's life: it sleeps while a queue is armed, else it is parked.
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

// stopWaiting sees everybody out of Device.Sleep and ends the sentry. It is called
// under the lock, which it releases meanwhile.
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
