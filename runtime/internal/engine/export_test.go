package engine

import (
	"reflect"
	"time"

	"github.com/gorun-hpc/gorun/runtime/internal/progress"
)

// Held returns the bytes of unexpected messages that a rank stores, as counted by its
// credits, and the number of such messages.
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

// Spent returns the credit that eager messages to a peer have used, and Charged the credit
// that those of a peer have used here.
func (e *Engine) Spent(peer int) uint32 {
	e.lock()
	defer e.unlock()
	p, err := e.to(peer)
	if err != nil {
		panic(err)
	}
	return p.out.sent
}

// Charged is the other side of Spent.
func (e *Engine) Charged(peer int) uint32 {
	e.lock()
	defer e.unlock()
	p, err := e.to(peer)
	if err != nil {
		panic(err)
	}
	return p.in.arrived
}

// Occupied returns the bytes of memory that a rank's unexpected messages take, and those
// that are kept for the next ones.
func (e *Engine) Occupied() (used, kept int) {
	e.lock()
	defer e.unlock()
	record := int(reflect.TypeFor[message]().Size())
	e.match.unexpected[shapeExact].each(func(en *entry) { used += record + cap(en.msg.data) })
	return used, e.spare.bytes + e.spare.kept*record
}

// RecordBytes bounds what a message takes besides its bytes.
const RecordBytes = messageOverhead

// SpareMemory allocates n bytes as for an unexpected message, after it has freed those of
// the previous call.
func SpareMemory() func(n int) []byte {
	var s spareMemory
	var last []byte
	return func(n int) []byte {
		s.put(last)
		last = s.get(n)
		return last
	}
}

// Idle reports whether nothing is under way: no operation waits for an answer, no
// receive is posted, no message kept, no frame pending.
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

// Poll polls once, also after an Abort.
func (e *Engine) Poll() {
	e.lock()
	defer e.unlock()
	e.poll(pollBudget)
}

// HoldBatches stops the clock of batches: only after a frame of the peer is an actor
// message sent at once. Without timer only a poll sends batches.
func (e *Engine) HoldBatches(timer bool) {
	e.lock()
	defer e.unlock()
	e.mail.batches.within, e.mail.batches.running = time.Hour, !timer
}

// Crowded says that a goroutine is parked. The caller holds the lock, as functions of Await do.
func (e *Engine) Crowded() bool { return e.token.Crowded() }
