package peering_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/negotiation"
	"github.com/gorun-hpc/gorun/transport/rdma/internal/peering"
)

// steady is a random source without state, so that worlds can be copied.
type steady struct{}

func (steady) Uint64() uint64 { return 1 << 31 }

// message is an event that is in transit on a link. The messages of each direction arrive in order.
type message struct {
	kind     peering.EventKind // Requested, Established, Refused, FirstMessage, Bye, ByeAck, Lost
	greeting peering.Greeting
	reject   negotiation.Reject
	final    bool
}

// link is a connection of the simulated network. Indexes 0 and 1 are its sides.
type link struct {
	active  int             // the side that dialed
	name    [2]peering.Conn // each side's name for the connection; the zero Conn before the side has named it
	open    [2]bool         // the side has not ended the connection, and was not told of its end
	used    bool            // the active side has used it
	toward  [2][]message
	settled int // final results of the attempt at its active side
}

// budget has, for each kind of fault and of request of a side, how often it may still happen.
type budget struct {
	wants, idles, shutdowns, faults, ticks, kills int
}

// world is two machines and the network between them.
type world struct {
	side        [2]peering.Machine
	incarnation [2]uint16
	links       []link
	inUse       [2]int // index into links, or -1
	passive     uint32 // numbers given to passive connections
	now         time.Duration
	down        [2]bool
	ended       [2]bool
	finished    [2]bool
	asked       [2]bool // a shutdown was requested
	left        budget
	trace       []string // nil when the world is not traced
	tracing     bool
}

func newWorld(b budget) *world {
	w := &world{inUse: [2]int{-1, -1}, incarnation: [2]uint16{65535, 65535}, left: b}
	for s := range w.side {
		w.side[s] = w.machine(s)
	}
	return w
}

func (w *world) machine(s int) peering.Machine {
	return *peering.New(peering.Config{
		Rank: uint32(s), Peer: uint32(1 - s), Incarnation: w.incarnation[s],
		GiveUp: 1000 * time.Hour, Random: steady{},
	})
}

func (w *world) clone() *world {
	c := *w
	c.links = slices.Clone(w.links)
	for i := range c.links {
		for s := range 2 {
			c.links[i].toward[s] = slices.Clone(c.links[i].toward[s])
		}
	}
	c.trace = slices.Clone(w.trace)
	return &c
}

// key returns the state of a world without times, so that the search recognizes a state. Each number has a
// terminator, and each list begins with its length.
func (w *world) key() string {
	b := append(make([]byte, 0, 512), w.side[0].String()+"|"+w.side[1].String()+"|"...)
	add := func(numbers ...int) {
		for _, n := range numbers {
			b = binary.AppendVarint(b, int64(n))
		}
	}
	flag := func(flags ...bool) {
		for _, f := range flags {
			b = strconv.AppendBool(b, f)
		}
	}
	left := w.left
	add(left.wants, left.idles, left.shutdowns, left.faults, left.ticks, left.kills)
	for s := range 2 {
		add(w.inUse[s], int(w.incarnation[s]))
		flag(w.down[s], w.ended[s], w.finished[s])
	}
	for i := range w.links {
		l := &w.links[i]
		if !l.open[0] && !l.open[1] && len(l.toward[0])+len(l.toward[1]) == 0 {
			continue
		}
		add(i, l.active, l.settled)
		flag(l.used)
		for s := range 2 {
			flag(l.open[s], l.name[s].Active)
			add(int(l.name[s].Number), len(l.toward[s]))
			for _, m := range l.toward[s] {
				g, r := m.greeting, m.reject
				add(int(m.kind), int(g.Incarnation), int(g.Attempt))
				add(int(r.Reason), int(r.MajorMin), int(r.MajorMax))
				add(int(r.Incarnation), int(r.Retry))
				flag(m.final)
			}
		}
	}
	return string(b)
}

// step gives an event to a side and carries out the resulting actions.
func (w *world) step(s int, e peering.Event) error {
	if w.tracing {
		w.trace = append(w.trace, fmt.Sprintf("rank %d: event %d %v %v in %v", s, e.Kind, e.Conn, e.Greeting, &w.side[s]))
	}
	for _, a := range w.side[s].Step(w.now, e, nil) {
		if w.tracing {
			w.trace = append(w.trace, fmt.Sprintf("    action %d %v %v %v %v", a.Kind, a.Conn, a.Greeting, a.Reject, a.Err))
		}
		if err := w.act(s, a); err != nil {
			return fmt.Errorf("rank %d, action %d %v: %w", s, a.Kind, a.Conn, err)
		}
	}
	return w.check()
}

// find returns the link with this name at a side.
func (w *world) find(s int, c peering.Conn) (int, *link) {
	i := slices.IndexFunc(w.links, func(l link) bool { return l.name[s] == c })
	if i < 0 {
		return i, nil
	}
	return i, &w.links[i]
}

// act carries out an action.
func (w *world) act(s int, a peering.Action) error {
	switch a.Kind {
	case peering.Dial:
		if i, _ := w.find(s, a.Conn); i >= 0 {
			return fmt.Errorf("the number was used before")
		}
		l := link{active: s, open: [2]bool{true, true}}
		l.name[s] = a.Conn
		l.toward[1-s] = []message{{kind: peering.Requested, greeting: a.Greeting}}
		w.links = append(w.links, l)
		return nil
	case peering.Down, peering.Ended, peering.Finished:
		return w.over(s, a.Kind)
	case peering.Restarted:
		return nil
	}
	i, l := w.find(s, a.Conn)
	if l == nil || !l.open[s] && a.Kind != peering.Retire {
		return fmt.Errorf("the connection had ended for this side")
	}
	switch a.Kind {
	case peering.Accept:
		w.send(l, s, message{kind: peering.Established, greeting: a.Greeting})
	case peering.Refuse:
		w.send(l, s, message{kind: peering.Refused, reject: a.Reject})
		l.open[s] = false
	case peering.Use:
		return w.use(s, i, l)
	case peering.Retire:
		if w.inUse[s] != i {
			return fmt.Errorf("not in use")
		}
		if errors.Is(a.Err, peering.ErrReplaced) && w.inUse[1-s] == i {
			return fmt.Errorf("replaced while the peer uses it")
		}
		w.inUse[s] = -1
	case peering.Drop, peering.Close:
		if s == l.active && !l.used {
			l.settled++
		}
		w.detach(l, s)
	case peering.SendBye:
		w.send(l, s, message{kind: peering.Bye, final: a.Final})
	case peering.SendByeAck:
		w.send(l, s, message{kind: peering.ByeAck})
	}
	return nil
}

func (w *world) use(s, i int, l *link) error {
	if w.inUse[s] != -1 {
		return fmt.Errorf("connection %d is in use", w.inUse[s])
	}
	w.inUse[s] = i
	if s == l.active {
		l.used = true
		l.settled++
		w.send(l, s, message{kind: peering.FirstMessage})
	} else if !l.used {
		return fmt.Errorf("the active side never used it")
	}
	return nil
}

func (w *world) over(s int, k peering.ActionKind) error {
	flag := map[peering.ActionKind]*bool{peering.Down: &w.down[s], peering.Ended: &w.ended[s], peering.Finished: &w.finished[s]}[k]
	if *flag || w.down[s] && k == peering.Ended || w.ended[s] && k == peering.Down {
		return fmt.Errorf("a second end")
	}
	*flag = true
	return nil
}

func (w *world) send(l *link, from int, m message) {
	if l.open[1-from] {
		l.toward[1-from] = append(l.toward[1-from], m)
	}
}

// detach ends a link at one side, and tells the other side. Messages that are in transit to the side that
// ends the link still reach the machine of this side, because a real machine also gets late events.
func (w *world) detach(l *link, s int) {
	w.send(l, s, message{kind: peering.Lost})
	l.open[s] = false
}

// check tests the invariant of every state.
func (w *world) check() error {
	if a, b := w.inUse[0], w.inUse[1]; a >= 0 && b >= 0 && a != b {
		return fmt.Errorf("rank 0 uses connection %d, rank 1 connection %d", a, b)
	}
	for i := range w.links {
		if w.links[i].settled > 1 {
			return fmt.Errorf("attempt %d has %d outcomes", i, w.links[i].settled)
		}
	}
	for s := range 2 {
		if _, ok := w.side[s].InUse(); ok != (w.inUse[s] >= 0) {
			return fmt.Errorf("rank %d is not sure whether a connection is in use: %v", s, &w.side[s])
		}
	}
	return nil
}

// deliver gives the first message of a direction to its side.
func (w *world) deliver(i, s int) error {
	l := &w.links[i]
	m := l.toward[s][0]
	l.toward[s] = l.toward[s][1:]
	switch m.kind {
	case peering.Requested:
		w.passive++
		l.name[s] = peering.Conn{Number: w.passive}
	case peering.Refused, peering.Lost:
		if s == l.active && !l.used && l.open[s] {
			l.settled++
		}
		l.open[s], l.toward[s] = false, nil
		if l.name[s] == (peering.Conn{}) {
			return nil // the connection ended before the request was read
		}
	}
	return w.step(s, peering.Event{
		Kind: m.kind, Conn: l.name[s], Greeting: m.greeting, Reject: m.reject, Final: m.final, Err: errBroken,
	})
}

// cut breaks a link. Messages on their way to the sides in mask are lost.
func (w *world) cut(i, mask int) {
	l := &w.links[i]
	for s := range 2 {
		if mask&(1<<s) != 0 {
			l.toward[s] = nil
		}
		if l.open[s] {
			l.toward[s] = append(l.toward[s], message{kind: peering.Lost})
		}
	}
}

// kill ends a rank without a goodbye, and starts its next incarnation.
func (w *world) kill(s int) {
	for i := range w.links {
		l := &w.links[i]
		if l.name[s] == (peering.Conn{}) {
			continue // its request arrives at the next incarnation
		}
		if l.open[s] {
			w.detach(l, s)
		}
		l.toward[s] = nil
		if s == l.active {
			l.settled = 1
		}
		l.name[s] = peering.Conn{Number: 1 << 30} // the next incarnation has no name for the connection
	}
	w.incarnation[s]++
	w.side[s] = w.machine(s)
	w.inUse[s], w.down[s], w.ended[s], w.finished[s], w.asked[s] = -1, false, false, false, false
}
