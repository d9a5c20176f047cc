package collectives

import (
	"github.com/gorun-hpc/gorun/collectives/internal/message"
	"github.com/gorun-hpc/gorun/internal/flight"
)

// underway holds the data that the rank's flight recorder needs about the blocking operation in
// progress.
//
// A short operation in shared memory is recorded when this member first waits for other members, usually
// after it has published its contribution. If this member does not wait, the operation is recorded at its
// end. If the operation were recorded before the publication, the other members would wait for the recording.
// After the publication, the recording costs the other members no time.
type underway struct {
	// record is the recorder's entry of the operation in progress.
	record flight.Started
	// numbers has the numbers that the recorder has reserved for the next operations.
	numbers flight.Numbers
	// calls has an element for each operation: the recorder's description of the latest call of this operation,
	// and the root of that call. The description is used again while the root stays the same.
	calls [message.Operations]struct {
		call flight.Call
		root int
	}
	// late is true while the operation in progress is not yet recorded. pending has the arguments of
	// this operation.
	late    bool
	pending struct {
		op          message.Operation
		root, bytes int
	}
}

// set sets the operation that the method record of group will enter in the flight recorder.
func (u *underway) set(k *call) {
	u.late = true
	u.pending.op, u.pending.root, u.pending.bytes = k.op, k.Root, k.bytes
}

// record enters the blocking call in progress in the flight recorder if the call is not recorded yet.
// The caller has already noted the call in g.blocking (see record.go).
func (g *group) record() {
	if g.under.late {
		g.recordNow()
	}
}

func (g *group) recordNow() {
	u := &g.under
	u.late = false
	pending := &u.pending
	latest := &u.calls[pending.op]
	if latest.call == (flight.Call{}) || latest.root != pending.root {
		latest.root, latest.call = pending.root, g.recorded(pending.op, pending.root)
	}
	site := g.recorder.PlaceOf(g.blocking.stack(g.number))
	u.record = g.recorder.StartOf(&u.numbers, latest.call, int(g.number), pending.bytes, site)
}

// recordStarted enters nonblocking call n in the flight recorder.
func (k *call) recordStarted(n uint64) flight.Started {
	g := k.group
	return g.recorder.Start(g.recorded(k.op, k.Root), int(n), k.bytes, g.recorder.PlaceOf(g.nonblocking.stack(n)))
}

// recorded returns the recorder's description of an operation.
func (g *group) recorded(op message.Operation, root int) flight.Call {
	text := uint8(g.texts[op].Load())
	if text == 0 {
		text = g.recorder.Text(op.String())
		g.texts[op].Store(uint32(text))
	}
	if !op.Rooted() {
		return flight.NewCall(text, g.context, -1)
	}
	return flight.NewCall(text, g.context, g.home.WorldRank(root))
}
