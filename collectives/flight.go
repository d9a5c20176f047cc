package collectives

import (
	"github.com/gorun-hpc/gorun/collectives/internal/message"
	"github.com/gorun-hpc/gorun/internal/flight"
)

// underway is the blocking operation under way in the flight recorder of the rank.
//
// A short one through the node's memory is recorded after this member has published its part, before it
// looks for those of others, or at its end if it looks for none: before, the others would wait
// for the recording, and after, it takes none of their time.
type underway struct {
	record flight.Started
	// numbers are for the next operations.
	numbers flight.Numbers
	// call is of the last operation that was recorded, which was op with a root.
	call flight.Call
	op   message.Operation
	root int
	// late says that the operation under way, next, is not recorded yet.
	late bool
	next struct {
		op          message.Operation
		root, bytes int
	}
}

// set sets what will be recorded.
func (u *underway) set(k *call) {
	u.late = true
	u.next.op, u.next.root, u.next.bytes = k.op, k.Root, k.bytes
}

// record puts the blocking call under way, which was noted, into the flight recorder, unless it is there.
func (g *group) record() {
	if g.under.late {
		g.recordNow()
	}
}

func (g *group) recordNow() {
	u := &g.under
	u.late = false
	if next := &u.next; u.call == (flight.Call{}) || u.op != next.op || u.root != next.root {
		u.op, u.root, u.call = next.op, next.root, g.recorded(next.op, next.root)
	}
	site := g.recorder.PlaceOf(g.blocking.stack(g.number))
	u.record = g.recorder.StartOf(&u.numbers, u.call, int(g.number), u.next.bytes, site)
}

// recordStarted records nonblocking call n.
func (k *call) recordStarted(n uint64) flight.Started {
	g := k.group
	return g.recorder.Start(g.recorded(k.op, k.Root), int(n), k.bytes, g.recorder.PlaceOf(g.nonblocking.stack(n)))
}

// recorded is the recorder's Call of an operation.
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
