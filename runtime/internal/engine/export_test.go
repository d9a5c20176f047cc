package engine

import (
	"context"
	"reflect"
	"time"

	"github.com/gorun-hpc/gorun/runtime/internal/progress"
)

// Flush waits until the lanes have taken every queued frame.
func (e *Engine) Flush(ctx context.Context) error {
	return e.Await(ctx, func() bool { return len(e.backlog)+len(e.mail.batches.open) == 0 }, "flush")
}

// Held returns the total cost in credit (eagerCost) of the unexpected messages that a rank stores,
// and their number.
func (e *Engine) Held() (bytes, messages int) {
	e.lock()
	defer e.unlock()
	for _, p := range e.peers {
		if p != nil {
			bytes += int(p.in.arrived - p.in.returned)
		}
	}
	return bytes, e.match.unexpected[shapeExact].entries
}

// Spent returns the credit that eager messages from this rank to a peer have used.
func (e *Engine) Spent(peer int) uint32 {
	e.lock()
	defer e.unlock()
	p, err := e.to(peer)
	if err != nil {
		panic(err)
	}
	return p.out.sent
}

// Charged returns the credit that eager messages from a peer to this rank have used.
func (e *Engine) Charged(peer int) uint32 {
	e.lock()
	defer e.unlock()
	p, err := e.to(peer)
	if err != nil {
		panic(err)
	}
	return p.in.arrived
}

// Occupied returns the bytes of memory of a rank's unexpected messages, and the unused bytes that
// the rank keeps for later messages.
func (e *Engine) Occupied() (used, kept int) {
	e.lock()
	defer e.unlock()
	record := int(reflect.TypeFor[message]().Size())
	e.match.unexpected[shapeExact].each(func(en *entry) { used += record + cap(en.msg.data) })
	return used, e.spare.bytes + len(e.spare.messages)*record
}

// RecordBytes bounds the memory, in bytes, that the record of an unexpected message takes in addition
// to the bytes of the message.
const RecordBytes = messageOverhead

// SpareMemory returns a function that allocates n bytes as for an unexpected message. The
// function first frees the memory of its previous call.
func SpareMemory() func(n int) []byte {
	var s spareMemory
	var last []byte
	return func(n int) []byte {
		s.put(last)
		last = s.get(n)
		return last
	}
}

// Idle reports whether nothing is in progress. It returns true if no operation waits for an answer,
// no receive is posted, no message is stored, no frame is pending, and the poll token is free.
func (e *Engine) Idle() bool {
	e.lock()
	defer e.unlock()
	if e.match.tabled() != 0 || e.match.front.head != nil {
		return false
	}
	for s := range e.match.unexpected {
		if e.match.unexpected[s].entries != 0 {
			return false
		}
	}
	for _, o := range e.operations.slots {
		if o.req != nil {
			return false
		}
	}
	return len(e.backlog) == 0 && e.moving == 0 && e.token.State() == progress.Free
}

// Poll polls once. It also polls after an Abort.
func (e *Engine) Poll() {
	e.lock()
	defer e.unlock()
	e.poll(pollBudget)
}

// HoldBatches stops the clock of batches: an actor message is sent at once only after a frame of
// the peer has arrived. If timer is false, only a poll sends batches.
func (e *Engine) HoldBatches(timer bool) {
	e.lock()
	defer e.unlock()
	e.mail.batches.within, e.mail.batches.running = time.Hour, !timer
}

// Crowded reports whether a goroutine is parked. The caller must hold the engine's lock. A function
// that is passed to Await is called with the lock held.
func (e *Engine) Crowded() bool { return e.token.Crowded() }

// EndWaitWithBatch begins a wait, which takes the poll token from a sleeping goroutine, sends two actor messages, the
// second of which opens a batch, and ends the wait.
func (e *Engine) EndWaitWithBatch(l *Stream) {
	e.lock()
	defer e.unlock()
	w := e.newWaiter()
	if !e.begin(w) {
		panic("another goroutine polls")
	}
	e.mail.batches.within = time.Hour
	message := ActorMessage{Stream: l.number}
	e.post(l.peer, message.words(0), nil)
	if !e.batch(l.peer, message, nil, nil) {
		panic("no batch was opened")
	}
	w.fired = true
	e.obey(e.token.End(&w.place))
	e.freeWaiter(w)
}
