package verbs

import (
	"fmt"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// Watch sets the queue that takes the events of the adapter as a whole (the asynchronous EVD of
// dat_ia_open(3DAT)): EventRemoved, EventPortDown, EventPortUp and EventAddressChanged. A provider
// may not be able to detect all of them. q replaces the queue of an earlier call. If q is nil,
// further events are discarded. Watch fails with ErrInvalidParameter if the completion flags of
// streams that feed the queue do not allow events of an adapter in the queue.
func (a *Adapter) Watch(q *CompletionQueue) error {
	const op = "watch"
	a.mu.Lock()
	defer a.unlock()
	if a.closed || a.failure != nil || q != nil && !q.valid(a) {
		return a.err(op, ErrInvalidHandle)
	}
	if q != nil {
		q.feeds.add(StreamAdapter, 0, 1)
		if !q.feeds.legal() {
			q.feeds.add(StreamAdapter, 0, -1)
			return a.err(op, ErrInvalidParameter)
		}
	}
	if a.events != nil {
		a.events.feeds.add(StreamAdapter, 0, -1)
	}
	a.events = q
	return nil
}

// tell queues an event of the adapter.
func (a *Adapter) tell(t EventType, err error) {
	if a.events != nil {
		a.events.push(&Completion{Stream: StreamAdapter, Event: &Event{Type: t, Err: err}}, true)
	}
}

// owner is the provider.Adapter that an adapter gives to its device.
type owner Adapter

var _ provider.Adapter = (*owner)(nil)

// Lock implements provider.Adapter.
func (o *owner) Lock() { o.mu.Lock() }

// Unlock implements provider.Adapter.
func (o *owner) Unlock() { o.mu.Unlock() }

// Happened implements provider.Adapter. The provider calls Happened with the lock held, from within
// one of its methods. A removal takes effect only when the present or the next Device.Progress has
// returned, because the removal ends objects that the provider is using.
func (o *owner) Happened(e provider.Event) {
	a := (*Adapter)(o)
	switch e.Kind {
	case provider.EventRemoved:
		a.removal = ErrRemoved
		if e.Err != nil {
			a.removal = fmt.Errorf("%w: %w", ErrRemoved, e.Err)
		}
	case provider.EventPortDown:
		a.tell(EventPortDown, e.Err)
	case provider.EventPortUp:
		a.tell(EventPortUp, e.Err)
	case provider.EventAddressChanged:
		a.tell(EventAddressChanged, e.Err)
	}
}
