package stripe_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/stripe"
)

// event is an event in the simulated world of a test.
type event uint8

const (
	postMain  event = iota // a part is posted on the main connection
	postSide               // a part is posted on the side connection
	moveMain               // the oldest part or mark of the main connection arrives at the owner of the memory
	moveSide               // the oldest part or mark of the side connection arrives at the owner
	doneMain               // a part that is posted on the main connection completes
	doneSide               // a part that is posted on the side connection completes
	markMain               // a mark is sent on the main connection
	markSide               // a mark is sent on the side connection
	want                   // a side connection is requested
	attach                 // the side connection is established
	refuse                 // the side connection is refused
	askKey                 // the owner is asked for the key
	record                 // the oldest record arrives at the owner, which answers it
	answer                 // the oldest answer arrives
	breakSide              // the side connection breaks
	breakMain              // the main connection breaks
	stale                  // a Write of a broken side connection arrives at the owner
	bail                   // the peer is lost, or this side closes: everything ends
	events
)

// item is a part, or a mark, on a connection.
type item struct {
	part stripe.Part
	mark bool
}

// note is a record, that is, a control message on the main connection. Records are never lost and keep their
// order.
type note struct {
	kind string
	id   uint64
}

// world is one transfer, the side connection, the owner of the memory, and everything in flight between them.
// It also records which bytes are in place, so that the test can check the result.
type world struct {
	transfer stripe.Transfer
	line     stripe.Line
	key      stripe.KeyState
	put      bool
	size     int
	part     int
	ids      uint64

	lanes   [2][]item // items that are posted and have not arrived
	posted  [2]int    // number of parts whose completions are outstanding
	early   bool      // as with iWARP, a Write completes when it has been sent
	records []note
	answers []note
	dead    []stripe.Part // Writes of broken side connections that may still arrive
	open    uint64        // the side connection that is open at the owner's end, or 0
	there   []bool        // the bytes that are in place
	breaks  [2]int        // how often each connection may still break
	bails   int
	ended   int
	over    bool
}

func newWorld(put, early bool, size, part int) *world {
	w := &world{put: put, early: early, size: size, part: part, there: make([]bool, size)}
	w.transfer.Begin(size, put)
	return w
}

func (w *world) clone() *world {
	c := *w
	c.transfer = w.transfer.Clone()
	for i := range c.lanes {
		c.lanes[i] = slices.Clone(w.lanes[i])
	}
	c.records, c.answers, c.dead, c.there = slices.Clone(w.records), slices.Clone(w.answers), slices.Clone(w.dead), slices.Clone(w.there)
	return &c
}

func (w *world) String() string {
	return fmt.Sprint(w.transfer.String(), w.line.String(), w.key, w.lanes, w.posted, w.records, w.answers, w.dead, w.open, w.there, w.breaks, w.bails, w.ended, w.over)
}

// arrive lets a part arrive at the owner.
func (w *world) arrive(p stripe.Part) {
	for i := p.Off; i < p.Off+p.Len; i++ {
		w.there[i] = true
	}
}

func (w *world) post(on stripe.Path) {
	p := w.transfer.Next(w.part)
	w.transfer.Post(on, p.Len)
	w.lanes[on] = append(w.lanes[on], item{part: p})
	w.posted[on]++
}

// move takes the oldest item of a connection to the owner.
func (w *world) move(on stripe.Path) {
	i := w.lanes[on][0]
	w.lanes[on] = w.lanes[on][1:]
	switch {
	case !i.mark:
		w.arrive(i.part)
	case on == stripe.Side:
		w.answers = append(w.answers, note{"marked", w.open})
	default:
		w.answers = append(w.answers, note{"acknowledged", 0})
	}
}

// can reports whether the oldest incomplete part on a connection may complete now.
func (w *world) can(on stripe.Path) bool {
	under := 0
	for _, i := range w.lanes[on] {
		if !i.mark {
			under++
		}
	}
	return w.posted[on] > 0 && (w.put && w.early || w.posted[on] > under)
}

// enabled reports whether an event may happen.
func (w *world) enabled(e event) bool {
	if w.over {
		return e == stale && len(w.dead) > 0
	}
	t := &w.transfer
	switch e {
	case postMain:
		return t.Left() > 0
	case postSide:
		return t.Left() > 0 && w.line.Up() && w.key == stripe.KeyKnown
	case moveMain:
		return len(w.lanes[stripe.Main]) > 0
	case moveSide:
		return len(w.lanes[stripe.Side]) > 0
	case doneMain:
		return w.can(stripe.Main)
	case doneSide:
		return w.can(stripe.Side)
	case markMain:
		return t.MarkDue(stripe.Main)
	case markSide:
		return t.MarkDue(stripe.Side)
	case want:
		return w.line.Idle() && w.breaks[stripe.Side] > 0
	case attach, refuse:
		return w.line.Asked()
	case askKey:
		return w.line.Up() && w.key == stripe.KeyUnknown
	case record:
		return len(w.records) > 0
	case answer:
		return len(w.answers) > 0
	case breakSide:
		return w.line.Up() && w.breaks[stripe.Side] > 0
	case breakMain:
		return w.breaks[stripe.Main] > 0
	case bail:
		return w.bails > 0
	default:
		return len(w.dead) > 0
	}
}

// do lets an event happen.
func (w *world) do(e event) {
	switch e {
	case postMain, postSide:
		w.post(stripe.Path(e - postMain))
	case moveMain, moveSide:
		w.move(stripe.Path(e - moveMain))
	case doneMain, doneSide:
		w.posted[e-doneMain]--
		w.transfer.Completed(stripe.Path(e - doneMain))
	case markMain, markSide:
		w.transfer.Mark(stripe.Path(e - markMain))
		w.lanes[e-markMain] = append(w.lanes[e-markMain], item{mark: true})
	case want:
		w.line.Want()
	case attach:
		w.ids++
		w.line.Attach(w.ids)
		w.open = w.ids
	case refuse:
		w.breaks[stripe.Side]--
		w.line.Refused()
	case askKey:
		w.key = stripe.KeyAsked
		w.records = append(w.records, note{"key", 0})
	case record:
		n := w.records[0]
		w.records = w.records[1:]
		if n.kind == "close" {
			if w.open == n.id {
				w.open = 0
			}
			w.dead = nil // all Writes in dead belong to earlier side connections, because at most one is open
		}
		w.answers = append(w.answers, n)
	case answer:
		w.answered()
	case breakSide:
		w.breaks[stripe.Side]--
		id, _ := w.line.Lost()
		w.leave()
		w.transfer.Lost()
		w.records = append(w.records, note{"close", id})
	case breakMain:
		w.restart()
	case stale:
		w.arrive(w.dead[0])
		w.dead = w.dead[1:]
	default:
		w.line.Drop()
		w.leave()
		w.over = true
	}
	if !w.over && w.transfer.Done() {
		w.over = true
		w.ended++
	}
}

// leave ends the side connection at this end. The Writes that were posted on it may still arrive.
func (w *world) leave() {
	for _, i := range w.lanes[stripe.Side] {
		if w.put && !i.mark {
			w.dead = append(w.dead, i.part)
		}
	}
	w.lanes[stripe.Side], w.posted[stripe.Side], w.key = nil, 0, stripe.KeyUnknown
}

// restart breaks the main connection. A Put then ends, and a Get begins again on the next main connection.
func (w *world) restart() {
	w.breaks[stripe.Main]--
	w.line.Drop()
	w.leave()
	w.lanes[stripe.Main], w.posted[stripe.Main] = nil, 0
	if w.put {
		w.over = true
		return
	}
	w.transfer.Begin(w.size, w.put)
}

// answered processes the oldest answer of the owner.
func (w *world) answered() {
	n := w.answers[0]
	w.answers = w.answers[1:]
	switch n.kind {
	case "acknowledged":
		w.transfer.Confirmed(stripe.Main)
	case "marked":
		if w.line.Is(n.id) {
			w.transfer.Confirmed(stripe.Side)
		}
	case "key":
		if w.key == stripe.KeyAsked {
			w.key = stripe.KeyKnown
		}
	default:
		if w.line.Closed(n.id) {
			w.transfer.Release()
		}
	}
}

// check tests what must hold in every state. A transfer ends at most once. When it has ended successfully,
// all bytes are in place, and no Write of a Put can arrive any more.
func (w *world) check(t *testing.T) {
	t.Helper()
	require.LessOrEqual(t, w.ended, 1)
	if w.ended == 0 {
		return
	}
	require.NotContains(t, w.there, false, "it has ended before all bytes were there")
	if w.put {
		require.Empty(t, w.dead, "a Write may arrive after the end")
		for _, lane := range w.lanes {
			for _, i := range lane {
				require.True(t, i.mark, "a Write may arrive after the end")
			}
		}
	}
}

// TestEveryInterleaving visits every state that a transfer of two parts can reach, with breaks of both
// connections. The test checks that from each state the transfer ends if no connection breaks any more.
func TestEveryInterleaving(t *testing.T) {
	for _, c := range []struct {
		name             string
		put, early       bool
		size, side, main int
		bails            int
	}{
		{"get", false, false, 2, 2, 1, 0},
		{"get, given up", false, false, 2, 1, 1, 1},
		{"put", true, false, 2, 2, 1, 0},
		{"put, done when on its way", true, true, 2, 2, 0, 0},
		{"put, given up", true, true, 2, 1, 1, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			first := newWorld(c.put, c.early, c.size, 1)
			first.breaks, first.bails = [2]int{c.main, c.side}, c.bails
			seen, ends := map[string]bool{}, 0
			var visit func(w *world)
			visit = func(w *world) {
				at := w.String()
				if seen[at] {
					return
				}
				seen[at] = true
				w.check(t)
				if w.over {
					ends++
				}
				settles(t, w)
				for e := range events {
					if w.enabled(e) {
						next := w.clone()
						next.do(e)
						visit(next)
					}
				}
			}
			visit(first)
			t.Logf("%d states, %d of them ends", len(seen), ends)
			require.Positive(t, ends)
		})
	}
}

// settles checks that a transfer ends if no connection breaks any more.
func settles(t *testing.T, w *world) {
	t.Helper()
	w = w.clone()
	w.breaks, w.bails = [2]int{}, 0
	for steps := 0; !w.over; steps++ {
		require.Less(t, steps, 1000, "the transfer does not end: %v", w)
		e := event(0)
		for e < events && (!w.enabled(e) || e == want || e == refuse || e == stale) {
			e++
		}
		require.Less(t, e, events, "no event is possible: %v", w)
		w.do(e)
	}
	w.check(t)
}

// TestRandomInterleavings makes random runs with more parts, larger parts and more breaks. It checks in each state
// what must hold in every state (method check).
func TestRandomInterleavings(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %#x", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for range 3000 {
		w := newWorld(random.IntN(2) == 0, random.IntN(2) == 0, 1+random.IntN(30), 1+random.IntN(7))
		w.breaks, w.bails = [2]int{random.IntN(3), random.IntN(6)}, random.IntN(40)/39
		for !w.over {
			var can []event
			for e := range events {
				if w.enabled(e) {
					can = append(can, e)
				}
			}
			w.part = 1 + random.IntN(7)
			w.do(can[random.IntN(len(can))])
			w.check(t)
		}
		for w.enabled(stale) {
			w.do(stale)
		}
		w.check(t)
	}
}
