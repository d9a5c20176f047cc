//go:build !race

package progress

import (
	"fmt"
	"hash/maphash"
	"strings"
)

// bounds selects the goroutines and events of a search. Each event happens at most once, at any
// time.
type bounds struct {
	name       string
	waiters    [modelWaiters]kind
	server     bool
	background bool
	arrivals   [2]int8 // the goroutine of each arrival
	cancel     bool    // the context of waiter 0 ends
	abort      bool
	closes     bool
	call       bool // a call that polls and does not wait
	post       bool // a frame that only a poll can send
	early      bool // a Sleep may end early
	flaw       flaw
	seen       *transitions // the search adds the transitions that it finds
}

// waits reports whether goroutine i is in a wait.
func (w *world) waits(i int) bool {
	at := w.routines[i].at
	return w.routines[i].kind != absent && at != atStart && at != atEnd && at != atWork && at != atServe
}

// wrong returns the fault of a state, or "" if it has none. If still is true, only the clock and
// events from outside can change the state. If stopped is true, the clock cannot change the state
// either.
func (w *world) wrong(still, stopped bool) string {
	t := &w.token
	h := t.holder
	switch {
	case w.fault != "":
		return w.fault
	case (h == nil) != (t.state == Free):
		return "the token has a holder and is free, or neither"
	case t.state == Asleep && (!h.asleep || h.role == background), t.state == Idle && (h.role != background || h.last != Sleep):
		return "the holder does not sleep"
	case t.state == Polling && (!h.Awake() || h.role != ordinary),
		(t.state == Serving || t.state == Working) && (!h.Awake() || h.role != serving),
		t.state == Draining && h.role != background:
		return "the holder sleeps"
	case (t.state == Asleep || t.state == Idle) && !w.armed && !w.routines[w.index(h)].rung:
		return "the holder sleeps, nothing is armed, and no ring was sent"
	case w.armed && t.state != Asleep && t.state != Idle && w.lock < 0:
		return "the transports are armed, and no goroutine sleeps"
	}
	if !still {
		return ""
	}
	waiting := false
	for i := range w.places {
		if !w.waits(i) {
			continue
		}
		waiting = true
		if w.over(i) && (t.state != Working || w.routines[i].kind != word || stopped) {
			return fmt.Sprintf("goroutine %d waits for something that has arrived", i)
		}
	}
	switch {
	case w.closed && (waiting || w.routines[modelBack].at != atEnd && w.routines[modelBack].at != atStart && w.routines[modelBack].kind != absent):
		return "a goroutine waits after the close"
	case waiting && t.state != Asleep && t.state != Working:
		return "goroutines wait, and none polls or sleeps for them"
	case waiting && t.state == Working && stopped && w.routines[modelBack].kind != absent:
		return "goroutines wait for work that takes long"
	case w.queued > 0 && !w.failed && (waiting && t.state != Working || stopped && w.routines[modelBack].kind != absent && w.routines[modelBack].at != atStart):
		return "no goroutine takes an arrival"
	case w.backlog && !w.failed && stopped && waiting && t.state != Working:
		return "no goroutine drives a frame"
	}
	return ""
}

// index returns the index of the goroutine whose Waiter is p.
func (w *world) index(p *Waiter) int {
	if p == &w.token.background {
		return modelBack
	}
	return p.Of.(int)
}

// ended reports whether every goroutine that began has ended, after a close.
func (w *world) ended() bool {
	for i := range w.routines {
		if at := w.routines[i].at; w.routines[i].kind != absent && at != atEnd && at != atStart {
			return false
		}
	}
	return w.closed
}

// key identifies a state of the model.
type key [2]uint64

var keySeeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}

// key returns the key of a state.
func (w *world) key() key {
	b := w.bytes(make([]byte, 0, 96))
	return key{maphash.Bytes(keySeeds[0], b), maphash.Bytes(keySeeds[1], b)}
}

// bit returns 1<<at if set is true, otherwise 0.
func bit(set bool, at uint) uint16 {
	if set {
		return 1 << at
	}
	return 0
}

// bytes appends everything in a state that affects later states.
func (w *world) bytes(b []byte) []byte {
	for i := range w.routines {
		g := &w.routines[i]
		flags := bit(g.armed, 0) | bit(g.open, 1) | bit(g.rung, 2) | bit(g.signal, 3) | bit(g.fired, 4) | bit(g.canceled, 5) |
			bit(g.word, 6) | bit(g.ringing, 7) | bit(g.told, 8) | bit(g.naps, 9)
		b = append(b, byte(g.at), byte(g.action), byte(flags), byte(flags>>8))
		if i <= modelBack {
			b = append(b, byte(w.place(i).last))
		}
	}
	t := &w.token
	for _, l := range []*list{&t.asleep, &t.parked, &t.words} {
		for p := l.first; p != nil; p = p.places[l.which].next {
			b = append(b, byte(w.index(p)))
		}
		b = append(b, 255)
	}
	holder := byte(255)
	if t.holder != nil {
		holder = byte(w.index(t.holder))
	}
	flags := bit(t.woke, 0) | bit(t.failed, 1) | bit(t.closed, 2) | bit(t.rests, 3) | bit(t.server != nil, 4) | bit(t.calls == t.callsSeen, 5) |
		bit(t.shifts == t.shiftSeen, 6) | bit(w.armed, 7) | bit(w.cancels, 8) | bit(w.aborts, 9) | bit(w.closes, 10) | bit(w.posts, 11) |
		bit(w.backlog, 12) | bit(w.failed, 13) | bit(w.closed, 14) | bit(w.fault != "", 15)
	b = append(b, byte(t.state), holder, byte(flags), byte(flags>>8), byte(w.lock), byte(w.queued), byte(w.ready), byte(w.coming[0]), byte(w.coming[1]))
	for _, to := range w.arrivals[:w.queued] {
		b = append(b, byte(to))
	}
	return b
}

// found is the result of a search.
type found struct {
	states int
	fault  string // "" for none
	path   string // the moves to the fault
}

// node is a state that a search has found.
type node struct {
	from int32
	move uint8
}

// search visits every state within the bounds and returns the first fault.
func search(c bounds) found {
	first := newWorld(c)
	seen := map[key]int32{first.key(): 0}
	nodes := []node{{from: -1}}
	frontier := []*world{first}
	var edges [][2]int32
	var ends []int32
	for at := int32(0); len(frontier) > 0; at++ {
		w := frontier[0]
		frontier[0], frontier = nil, frontier[1:]
		still, stopped := true, true
		for m := range moves {
			who := w.can(m, c.early)
			if who == never {
				continue
			}
			if who == own {
				still = false
			}
			n := w.clone()
			n.make(m)
			k := n.key()
			to, old := seen[k]
			if !old {
				to = int32(len(nodes))
				seen[k] = to
				nodes = append(nodes, node{at, uint8(m)})
				frontier = append(frontier, n)
			}
			if who == clock && to != at {
				stopped = false
			}
			edges = append(edges, [2]int32{at, to})
		}
		if fault := w.wrong(still, still && stopped); fault != "" {
			return found{len(nodes), fault, trace(c, nodes, at)}
		}
		if w.ended() {
			ends = append(ends, at)
		}
	}
	if at := cornered(len(nodes), edges, ends); c.closes && at >= 0 {
		return found{len(nodes), "a close does not end all waits", trace(c, nodes, at)}
	}
	return found{states: len(nodes)}
}

// cornered returns a state from which no end can be reached, or -1.
func cornered(states int, edges [][2]int32, ends []int32) int32 {
	begins := make([]int32, states+1) // index of the first edge to each state
	for _, e := range edges {
		begins[e[1]]++
	}
	for i := 1; i <= states; i++ {
		begins[i] += begins[i-1]
	}
	from := make([]int32, len(edges))
	for _, e := range edges {
		begins[e[1]]--
		from[begins[e[1]]] = e[0]
	}
	reaches := make([]bool, states)
	for _, at := range ends {
		reaches[at] = true
	}
	for len(ends) > 0 {
		at := ends[len(ends)-1]
		ends = ends[:len(ends)-1]
		for _, before := range from[begins[at]:begins[at+1]] {
			if !reaches[before] {
				reaches[before] = true
				ends = append(ends, before)
			}
		}
	}
	for at, ok := range reaches {
		if !ok {
			return int32(at)
		}
	}
	return -1
}

// trace describes the path to a state.
func trace(c bounds, nodes []node, at int32) string {
	var path []int
	for ; nodes[at].from >= 0; at = nodes[at].from {
		path = append(path, int(nodes[at].move))
	}
	w := newWorld(c)
	var s strings.Builder
	for i := len(path) - 1; i >= 0; i-- {
		text := w.describe(path[i])
		w.make(path[i])
		fmt.Fprintf(&s, "%-28s| %v\n", text, w)
	}
	return s.String()
}

// describe returns a description of a move.
func (w *world) describe(m int) string {
	steps := [...]string{
		"begins", "polls first", "polls", "prepares", "arms", "looks", "wakes", "wakes", "wakes", "wakes",
		"works", "goes on", "comes back", "",
	}
	switch {
	case m < moveArm:
		return names[m] + " " + steps[w.routines[m].at]
	case m < moveTick:
		return names[m-moveArm] + " polls to sleep"
	case m == moveTick:
		return "a tick"
	case m < moveCome:
		return names[m-moveNap] + " has slept enough"
	case m < moveWord:
		if to := w.coming[m-moveCome]; to == failing {
			return "the transport fails"
		} else if to >= 0 {
			return "arrival for " + names[to]
		}
		return ""
	case m < moveRing:
		return "the word of " + names[m-moveWord] + " changes"
	case m < moveEnd:
		return "ring for " + names[m-moveRing]
	}
	return [...]string{"the context of 0 ends", "abort", "close", "a frame is refused", "the work ends"}[m-moveEnd]
}
