package verbs

import (
	"context"
	"sync"
	"time"
)

// waiting coordinates the goroutines of an adapter that wait until an entry is queued. One of them,
// the sleeper, is in Device.Sleep, and makes progress for all of them when it wakes. The other
// goroutines are parked: each waits on its own channel. When the sleeper ends its Wait, it wakes a
// parked goroutine, which becomes the next sleeper.
type waiting struct {
	// dirty is true if one of two events has happened since the last call of the method wake. First,
	// a queue has changed that is armed or has waiting goroutines. Second, a queue has died.
	dirty bool
	// sleeper is the goroutine in Device.Sleep, or nil. left is a condition that is signalled when
	// the sleeper has returned from Device.Sleep. Adapter.Close waits for it.
	sleeper *waiter
	left    sync.Cond
	parked  []*waiter
	// sentry is the goroutine that sleeps on behalf of armed queues. The first Arm of an adapter that
	// is not attended starts it, and Adapter.Close ends it. It closes exited when it ends. armed counts
	// the armed queues.
	sentry *waiter
	armed  int
	exited chan struct{}
	// attended is set by Adapter.Attend. dozer is the sleeper during a Doze. rearmed is true after an Arm, and roused
	// after a Rouse, until Doze has seen it.
	attended, rearmed, roused bool
	dozer                     waiter
}

// waiter is a goroutine in Wait or Doze, or the sentry. Only a goroutine in Wait has a queue.
type waiter struct {
	queue     *CompletionQueue
	threshold int
	// wake is the channel on which a parked goroutine waits. It has room for one token.
	wake chan struct{}
}

// Wait blocks until at least threshold entries are queued and at least one of them is an entry that
// wakes waiters. Two kinds of entries do not wake waiters, provided that their status is StatusSuccess:
// entries of work with FlagQuiet and, with CompletionSolicitedWait, entries of unsolicited messages. All
// other entries wake waiters. While Wait blocks, it makes progress itself, or another goroutine of the
// adapter makes progress. If ctx ends or the queue dies before these entries are queued, Wait returns
// the error of ctx or of the queue (see Err). In this case queued entries stay queued. Wait fails with
// ErrInvalidParameter if threshold is less than 1 or greater than the capacity of the queue, and with
// ErrInvalidState if the adapter is attended (Attend).
func (q *CompletionQueue) Wait(ctx context.Context, threshold int) error {
	const op = "wait"
	a := q.adapter
	a.mu.Lock()
	defer a.unlock()
	switch {
	case threshold < 1 || threshold > len(q.entries):
		return a.err(op, ErrInvalidParameter)
	case a.waiting.attended:
		return a.err(op, ErrInvalidState)
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

// pause wakes the goroutines for which the last call of drive has queued entries. It also releases
// the lock for a short time, so that other goroutines can take it.
func (a *Adapter) pause() {
	a.unlock()
	a.mu.Lock()
}

// satisfied reports whether the entries for which the waiter waits are queued.
func (w *waiter) satisfied() bool {
	return w.queue != nil && w.queue.count >= w.threshold && w.queue.notifying > 0
}

// leave ends a Wait. If there is no sleeper any more, leave wakes a parked goroutine, which becomes
// the sleeper.
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

// signal puts a token into wake if wake contains no token.
func (w *waiter) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// sleep releases the lock, suspends the goroutine, and takes the lock again. If there is no
// sleeper, the goroutine becomes the sleeper and sleeps in the kernel. Otherwise it parks on its
// channel. If there is no sleeper and the device has work to do (Device.Idle), sleep only calls pause.
func (a *Adapter) sleep(ctx context.Context, w *waiter) {
	if a.waiting.sleeper == nil {
		if !a.device.Idle() {
			a.pause()
			return
		}
		if ctx.Done() != nil {
			defer context.AfterFunc(ctx, a.Rouse)()
		}
		a.suspend(w, a.deadlines.earliest)
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

// suspend makes w the sleeper and sleeps in the kernel until the given time at the latest. It releases the lock
// meanwhile. The caller has checked that there is no sleeper and that Device.Idle returns true.
func (a *Adapter) suspend(w *waiter, until time.Time) {
	a.waiting.sleeper = w
	a.unlock()
	a.device.Sleep(until)
	a.mu.Lock()
	a.waiting.sleeper = nil
	a.waiting.left.Broadcast()
}

// nudge wakes the sleeper, if there is one. Callers use nudge if the sleeper would otherwise sleep
// too long, or if no sleeper is needed any more.
func (a *Adapter) nudge() {
	if a.waiting.sleeper != nil {
		a.device.Wake()
	}
}

// wake wakes the goroutines whose wait is satisfied or whose queue is dead. It disarms each armed
// queue that is dead or holds an entry that wakes waiters, and returns the ring functions of these
// queues. The caller calls these functions after it has released the lock.
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
				if q.freed {
					delete(a.queues, q)
				}
			}
		}
		if a.waiting.armed == 0 && a.waiting.sleeper == a.waiting.sentry {
			a.nudge()
		}
	}
	return rings
}

// Arm requests one call of ring when an entry that wakes waiters (see Wait) is queued or the queue
// dies (ibv_req_notify_cq(3)). If such an entry is already queued, or the queue is already dead, Arm
// returns false and does not arm the queue. While a queue is armed, a goroutine of the adapter
// sleeps in the kernel and makes progress, unless the adapter is attended (Attend). ring is called on
// this goroutine or on any other goroutine that uses the adapter. It is called without the lock, and
// may call every method except Adapter.Close. A later Arm replaces an earlier Arm.
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
	if a.waiting.attended {
		a.waiting.rearmed = true
		a.nudge() // a goroutine that is in Doze since an earlier Arm has to call Device.Idle again
		return true
	}
	if a.waiting.sentry == nil {
		a.waiting.sentry = &waiter{wake: make(chan struct{}, 1)}
		a.waiting.exited = make(chan struct{})
		go a.stand()
	}
	a.waiting.sentry.signal()
	return true
}

// Disarm cancels Arm. If a call of ring was already due, ring may still be called after Disarm. If
// the queue is not armed, Disarm does nothing.
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

// stand is the function of the sentry's goroutine. While a queue is armed, the sentry makes
// progress and sleeps in the kernel. Otherwise it waits on its channel.
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
