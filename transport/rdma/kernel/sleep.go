package kernel

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/internal/blocking"
	"github.com/gorun-hpc/gorun/transport/rdma/internal/uverbs"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// Idle implements provider.Progress. It arms all completion queues and then polls them once more,
// so that no completion is missed.
func (d *device) Idle() bool {
	if len(d.broken) > 0 || len(d.waiting) > 0 || d.failure != nil {
		return false
	}
	// The loop discards the notifications of earlier calls of Arm.
	for {
		ok, err := d.channel.Next()
		if err != nil || !ok {
			break
		}
	}
	for _, q := range d.queues {
		if err := q.queue.Arm(); err != nil {
			d.fail(err)
			return false
		}
	}
	for _, q := range d.queues {
		if n := q.queue.Poll(d.polled[:]); n > 0 {
			d.waiting = append(d.waiting, d.polled[:n]...)
		}
	}
	if len(d.waiting) > 0 {
		return false
	}
	d.events.Reset() // the next Progress looks for events, because an event may end the Sleep
	due := int64(0)
	for _, p := range d.quiet {
		if until := p.quietUntil.UnixNano(); due == 0 || until < due {
			due = until
		}
	}
	d.due.Store(due)
	return true
}

// Sleep implements provider.Progress.
func (d *device) Sleep(until time.Time) {
	var timeout *unix.Timespec
	if due := d.due.Load(); due != 0 && (until.IsZero() || due < until.UnixNano()) {
		until = time.Unix(0, due)
	}
	if !until.IsZero() {
		d.deadline = unix.NsecToTimespec(max(time.Until(until), 0).Nanoseconds())
		timeout = &d.deadline
	}
	// An error of the poll is ignored, because Sleep may return too early. Progress finds the reason
	// for the end of the poll.
	if errno := blocking.Poll(d.sources[:], timeout); errno != 0 {
		return
	}
	if d.sources[0].Revents != 0 {
		var b [8]byte
		_, _ = unix.Read(d.wakeup, b[:]) // the value is the number of calls of wake, which has no meaning
	}
	if d.sources[2].Revents != 0 {
		d.connections.Stir()
	}
}

// Wake implements provider.Progress.
func (d *device) Wake() { d.wake() }

// wake ends the running Sleep. If no Sleep runs, it ends the next Sleep. Any goroutine may call it.
func (d *device) wake() {
	one := [8]byte{1}
	// The write fails only if the counter of the eventfd would overflow.
	_, _ = unix.Write(d.wakeup, one[:])
}

// The reasons for which a device cannot be used any more, according to events of the kernel.
var (
	errFatal        = errors.New("the device has failed or was removed")
	errCompletions  = errors.New("a completion queue has overflowed or failed")
	errSharedFailed = errors.New("a shared receive queue has failed")
)

// ofPair returns the queue pair with the user number in an event, or nil if there is no such queue
// pair.
func (d *device) ofPair(user uint64) *queuePair {
	for _, p := range d.pairs {
		if p.user == user {
			return p
		}
	}
	return nil
}

// takeEvents handles all pending events of the device. If the device cannot be used any more although it
// still exists (see fail), it returns an error. If the device is gone, it reports the removal of the
// device to the consumer once, and returns nil.
func (d *device) takeEvents() error {
	for d.failure == nil {
		e, ok, err := d.context.NextEvent()
		if err != nil {
			d.fail(err)
			break
		}
		if !ok {
			return nil
		}
		d.take(e)
	}
	d.wake() // the events may have been read outside of Progress, and ended no Sleep
	if d.exists {
		return fmt.Errorf("kernel: device %s: %w", d.name, d.failure)
	}
	if !d.removed {
		d.removed = true
		d.happened(provider.Event{Kind: provider.EventRemoved, Err: d.failure})
	}
	return nil
}

// fail ends the use of the device after an error of one of its queues or of its events, because
// connections share the queues and the events. The device still exists, unless the error is EIO, which
// the kernel returns for a removed device. Only the first failure counts.
func (d *device) fail(err error) {
	if d.failure == nil {
		d.failure, d.exists = err, !errors.Is(err, unix.EIO)
	}
}

// take handles an event.
func (d *device) take(e uverbs.Event) {
	switch e.Type {
	case uverbs.EventDeviceFatal:
		d.failure = errFatal
	case uverbs.EventCompletionQueueError:
		d.fail(errCompletions)
	case uverbs.EventSharedQueueError:
		d.fail(errSharedFailed)
	case uverbs.EventPortError, uverbs.EventPortActive:
		if e.Element != uint64(d.port) {
			return
		}
		kind := provider.EventPortDown
		if e.Type == uverbs.EventPortActive {
			kind = provider.EventPortUp
		}
		d.adapter.Happened(provider.Event{Kind: kind})
	case uverbs.EventQueuePairFatal, uverbs.EventQueuePairRequest, uverbs.EventQueuePairAccess:
		if p := d.ofPair(e.Element); p != nil {
			p.end(errEnded)
		}
	case uverbs.EventLastReceive:
		if p := d.ofPair(e.Element); p != nil {
			p.last = true
		}
	default: // the other events need no action
	}
}
