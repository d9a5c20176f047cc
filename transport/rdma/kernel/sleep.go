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

// Idle implements provider.Progress. It asks all completion queues to announce what comes,
// then looks whether something has come already.
func (d *device) Idle() bool {
	if len(d.broken) > 0 || len(d.waiting) > 0 || d.failure != nil {
		return false
	}
	// The announcements of before are of no use.
	for {
		_, ok, err := d.channel.Next()
		if err != nil || !ok {
			break
		}
	}
	for _, q := range d.queues {
		if err := q.queue.Arm(false); err != nil {
			d.failure = err
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
	d.rounds = 0 // what ends the Sleep may be an event
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
	// Whatever ends it, Progress finds out what there is.
	if errno := blocking.Poll(d.sources[:], timeout); errno != 0 {
		return
	}
	if d.sources[0].Revents != 0 {
		var b [8]byte
		_, _ = unix.Read(d.wakeup, b[:]) // it counts how often it was rung, which does not matter
	}
	if d.sources[2].Revents != 0 {
		d.connections.Stir()
	}
}

// Wake implements provider.Progress.
func (d *device) Wake() { d.wake() }

// wake ends a Sleep, or the next one. Any goroutine may call it.
func (d *device) wake() {
	one := [8]byte{1}
	// It fails only when it would ring for the 2^64th time.
	_, _ = unix.Write(d.wakeup, one[:])
}

// errFatal is what the kernel says of a device that cannot be used any more.
var errFatal = errors.New("the device has failed or was removed")

// endOf breaks the connection of a queue pair that has failed by itself.
func (d *device) endOf(user uint64) {
	for _, p := range d.pairs {
		if p.user == user {
			p.end(errEnded)
		}
	}
}

// takeEvents takes the events of the device.
func (d *device) takeEvents() error {
	for d.failure == nil {
		e, ok, err := d.context.NextEvent()
		if err != nil {
			d.failure = err
			break
		}
		if !ok {
			return nil
		}
		switch e.Type {
		case uverbs.EventDeviceFatal:
			d.failure = errFatal
		case uverbs.EventCompletionQueueError:
			return fmt.Errorf("kernel: device %s: a completion queue has overflowed", d.name)
		case uverbs.EventPortError:
			d.adapter.Happened(provider.Event{Kind: provider.EventPortDown})
		case uverbs.EventPortActive:
			d.adapter.Happened(provider.Event{Kind: provider.EventPortUp})
		case uverbs.EventQueuePairFatal, uverbs.EventQueuePairRequest, uverbs.EventQueuePairAccess:
			d.endOf(e.Element)
		default: // of no interest
		}
	}
	if !d.removed {
		d.removed = true
		d.happened(provider.Event{Kind: provider.EventRemoved, Err: d.failure})
	}
	return nil
}
