package actors

import (
	"encoding/binary"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorun-hpc/gorun/runtime/internal/engine"
)

// inlet is the receiving end of a link.
type inlet struct {
	s      *System
	from   *source
	source int
	number uint32
	name   string

	// returned is the cost of what was taken, told what the sender knows of it.
	returned, told atomic.Uint32
	// settling is settlingBit and what returned is to reach until the sender is told, if
	// the sender waits for all of it.
	settling atomic.Uint64
	// closed says that the link has ended. The engine's lock guards it.
	closed bool

	// These belong to the serving goroutine.
	door    *door // to the actor, nil until it was found
	existed bool  // the actor was there once
	// What comes waits in kept, in order, while the actor is expected (listed in
	// post.expected) or a long message is on its way (pulling): never both.
	kept    []arrival
	listed  bool
	pulling bool
	era     uint32      // changes when it is listed
	end     *time.Timer // of the wait since then
	lost    error       // a long message did not come: its sender is gone
	// before is the inlet of an earlier link of the same rank to the same name:
	// while something waits there, what comes here waits behind it.
	before *inlet
}

// door leads to a mailbox as long as its actor lives. So a link that outlives the
// actor does not keep it.
type door struct{ box atomic.Pointer[mailbox] }

// entrance returns the door to a mailbox, which is made on first use. The serving
// goroutine calls it.
func (m *mailbox) entrance() *door {
	d := m.door.Load()
	if d == nil {
		d = new(door)
		d.box.Store(m)
		m.door.Store(d)
		if m.dead.Load() {
			d.box.Store(nil)
		}
	}
	return d
}

// box returns the mailbox of a living actor that the inlet leads to, or nil.
func (in *inlet) box() *mailbox {
	if in.door == nil {
		return nil
	}
	return in.door.box.Load()
}

// busy returns the inlet at which what comes here has to wait, or nil.
func (in *inlet) busy() *inlet {
	if in.before != nil {
		if b := in.before.busy(); b != nil {
			return b
		}
		in.lost = in.before.lost // who sees nothing of that one must see no gap either
		in.before = nil          // its link has ended: nothing comes there any more
	}
	if in.pulling || in.listed {
		return in
	}
	return nil
}

// flowing returns the mailbox that what comes goes straight to, or nil.
func (in *inlet) flowing() *mailbox {
	to := in.box()
	if to == nil || in.before != nil || in.pulling || in.listed || in.lost != nil || to.dead.Load() {
		return nil
	}
	return to
}

// settlingBit is set in inlet.settling when the sender waits.
const settlingBit = 1 << 32

// repay returns credit, and tells the sender when half of it came together, or all that
// it waits for.
func (in *inlet) repay(cost uint32) {
	if cost != 0 {
		in.tell(in.returned.Add(cost))
	}
}

// tell tells the sender what was returned in total, if it is to hear of it.
func (in *inlet) tell(total uint32) {
	told := in.told.Load()
	due := total-told >= engine.LinkWindow/2 || total != told && in.settling.Load() == settlingBit|uint64(total)
	if due && in.told.CompareAndSwap(told, total) {
		in.s.engine.Grant(in.source, in.number, total+engine.LinkWindow, &in.closed)
	}
}

// settle is told what the sender has spent, which it wants back before it closes the
// link.
func (in *inlet) settle(spent uint32) {
	in.settling.Store(settlingBit | uint64(spent))
	in.tell(in.returned.Load())
}

// unlist ends the wait for the actor.
func (in *inlet) unlist() {
	in.listed = false
	in.end.Stop()
	in.end = nil
}

// take returns what was kept.
func (in *inlet) take() []arrival {
	kept := in.kept
	in.kept = nil
	return kept
}

const (
	// inletsPage is the number of inlets that a source makes room for at a time.
	inletsPage = 256
	// inletsMax bounds the links of one rank to another.
	inletsMax = 1 << 22
)

// source is what arrived from one rank.
type source struct {
	// inlets are those of open links, by number - 1.
	inlets [][]*inlet
	types  []*codec // by number - typeDefined; with an error where unknown
	// quick decodes the types that are decoded by copying, nil for others.
	quick []func(b []byte) (any, error)

	// mu guards closing: inlets of links that have ended, by name, as long as
	// something may wait at them.
	mu      sync.Mutex
	closing map[string]*inlet
}

// inlet returns the inlet of a link, or nil.
func (src *source) inlet(number uint32) *inlet {
	at := int(number) - 1
	if at < 0 || at/inletsPage >= len(src.inlets) || src.inlets[at/inletsPage] == nil {
		return nil
	}
	return src.inlets[at/inletsPage][at%inletsPage]
}

// open makes the inlet of a new link. The engine's lock is held.
func (src *source) open(s *System, rank int, number uint32, name string) error {
	if number == 0 || number > inletsMax || src.inlet(number) != nil {
		return fmt.Errorf("%w: new link %d", errWire, number)
	}
	page, at := int(number-1)/inletsPage, int(number-1)%inletsPage
	for len(src.inlets) <= page {
		src.inlets = append(src.inlets, nil)
	}
	if src.inlets[page] == nil {
		src.inlets[page] = make([]*inlet, inletsPage)
	}
	in := &inlet{s: s, from: src, source: rank, number: number, name: name}
	src.mu.Lock()
	in.before = src.closing[name]
	src.mu.Unlock()
	src.inlets[page][at] = in
	return nil
}

// settle makes an arrival of a tagSettle.
func (src *source) settle(a *arrival, w engine.Parcel, body []byte) error {
	in := src.inlet(w.Link)
	if in == nil || len(body) != 4 {
		return fmt.Errorf("%w: settlement of link %d, %d bytes", errWire, w.Link, len(body))
	}
	a.kind, a.in, a.number = arrivalSettle, in, binary.LittleEndian.Uint32(body)
	return nil
}

// close takes out the inlet of a link that has ended; nil if there is none. The
// engine's lock is held.
func (src *source) close(number uint32) *inlet {
	in := src.inlet(number)
	if in == nil {
		return nil
	}
	src.inlets[(number-1)/inletsPage][(number-1)%inletsPage] = nil
	in.closed = true
	src.mu.Lock()
	if src.closing == nil {
		src.closing = make(map[string]*inlet)
	}
	src.closing[in.name] = in
	src.mu.Unlock()
	return in
}

// forget is called when nothing waits any more at an inlet whose link has ended.
func (in *inlet) forget() {
	in.from.mu.Lock()
	if in.from.closing[in.name] == in {
		delete(in.from.closing, in.name)
	}
	in.from.mu.Unlock()
}
