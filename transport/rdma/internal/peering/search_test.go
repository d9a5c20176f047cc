package peering_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/peering"
)

var errBroken = errors.New("the connection broke")

// move is an event that can happen in a world.
type move struct {
	name string
	do   func(w *world) error
}

// moves returns all events that can happen next.
func (w *world) moves() []move {
	var all []move
	for i := range w.links {
		l := &w.links[i]
		for s := range 2 {
			if len(l.toward[s]) > 0 {
				all = append(all, move{fmt.Sprintf("deliver %d to %d", i, s), func(w *world) error { return w.deliver(i, s) }})
			}
		}
		if w.left.faults > 0 && l.open[0] && l.open[1] {
			for mask := range 4 {
				all = append(all, move{fmt.Sprintf("cut %d losing %d", i, mask), func(w *world) error {
					w.left.faults--
					w.cut(i, mask)
					return nil
				}})
			}
		}
	}
	for s := range 2 {
		all = append(all, w.asks(s)...)
	}
	return all
}

// asks returns the events that a side can start itself.
func (w *world) asks(s int) []move {
	var all []move
	add := func(left bool, name string, do func(w *world) error) {
		if left {
			all = append(all, move{fmt.Sprintf("%s %d", name, s), do})
		}
	}
	event := func(k peering.EventKind, count func(b *budget) *int) func(w *world) error {
		return func(w *world) error {
			*count(&w.left)--
			return w.step(s, peering.Event{Kind: k})
		}
	}
	_, ticking := w.side[s].Deadline()
	add(w.left.wants > 0 && !w.finished[s], "want", event(peering.Want, func(b *budget) *int { return &b.wants }))
	add(w.left.idles > 0 && w.inUse[s] >= 0, "idle", event(peering.Idle, func(b *budget) *int { return &b.idles }))
	add(w.left.shutdowns > 0 && !w.asked[s], "shutdown", func(w *world) error {
		w.left.shutdowns--
		w.asked[s] = true
		return w.step(s, peering.Event{Kind: peering.Shutdown})
	})
	add(w.left.ticks > 0 && ticking, "tick", func(w *world) error {
		w.left.ticks--
		return w.tick(s)
	})
	add(w.left.kills > 0, "kill", func(w *world) error {
		w.left.kills--
		w.kill(s)
		return nil
	})
	return all
}

// tick advances the time to a side's deadline.
func (w *world) tick(s int) error {
	at, _ := w.side[s].Deadline()
	w.now = max(w.now, at)
	return w.step(s, peering.Event{Kind: peering.Tick})
}

// calm delivers everything and lets all timers expire, without further faults. In the end both sides must use
// the same connection, or both must have ended. Otherwise calm returns an error.
func (w *world) calm() error {
	// Each side gets the event Want twice, because a connection that is ending uses up the first event.
	for range 2 {
		for s := range 2 {
			if err := w.step(s, peering.Event{Kind: peering.Want}); err != nil {
				return err
			}
		}
		if err := w.run(); err != nil {
			return err
		}
	}
	return w.settledDown()
}

// run continues until nothing can happen any more.
func (w *world) run() error {
	for range 400 {
		moved := false
		for i := 0; i < len(w.links); i++ {
			for s := range 2 {
				for len(w.links[i].toward[s]) > 0 {
					moved = true
					if err := w.deliver(i, s); err != nil {
						return err
					}
				}
			}
		}
		if moved {
			continue
		}
		first, next := -1, time.Duration(0)
		for s := range 2 {
			if at, ok := w.side[s].Deadline(); ok && (first < 0 || at < next) {
				first, next = s, at
			}
		}
		if first < 0 {
			return nil
		}
		if err := w.tick(first); err != nil {
			return err
		}
	}
	return errors.New("no end of it")
}

// settledDown checks a world in which nothing can happen any more.
func (w *world) settledDown() error {
	over := [2]bool{w.down[0] || w.ended[0] || w.finished[0], w.down[1] || w.ended[1] || w.finished[1]}
	for i := range w.links {
		l := &w.links[i]
		if l.settled != 1 {
			return fmt.Errorf("attempt %d has %d outcomes", i, l.settled)
		}
		if (l.open[0] || l.open[1]) && i != w.inUse[0] {
			return fmt.Errorf("connection %d was left open: %v", i, l.open)
		}
	}
	switch {
	case w.down[0] || w.down[1]:
		return errors.New("a side was given up")
	case over[0] != over[1]:
		return fmt.Errorf("one side is over, the other not: %v, %v", &w.side[0], &w.side[1])
	case over[0]:
		if w.asked[0] && !w.finished[0] || w.asked[1] && !w.finished[1] {
			return errors.New("a shutdown was not finished")
		}
		return nil
	case w.inUse[0] < 0 || w.inUse[0] != w.inUse[1]:
		return fmt.Errorf("not connected: %v, %v", &w.side[0], &w.side[1])
	}
	return nil
}

// replay repeats the named moves and returns a trace of them.
func replay(b budget, names []string) string {
	w := newWorld(b)
	w.tracing = true
	for _, name := range names {
		for _, m := range w.moves() {
			if m.name == name {
				w.trace = append(w.trace, "-- "+name)
				if err := m.do(w); err != nil {
					return strings.Join(w.trace, "\n")
				}
				break
			}
		}
	}
	w.trace = append(w.trace, "-- calm")
	_ = w.calm()
	return strings.Join(w.trace, "\n")
}

// search visits every state that can be reached within a budget. It searches breadth first, so that it finds the
// shortest way to an error.
func search(t *testing.T, b budget, statesMax int) int {
	t.Helper()
	type node struct {
		w     *world
		moves []string
	}
	queue, seen := []node{{w: newWorld(b)}}, map[string]bool{}
	for len(queue) > 0 && len(seen) < statesMax {
		n := queue[0]
		queue = queue[1:]
		for _, m := range n.w.moves() {
			next := node{n.w.clone(), append(n.moves[:len(n.moves):len(n.moves)], m.name)}
			if err := m.do(next.w); err != nil {
				t.Fatalf("%v\n%s", err, replay(b, next.moves))
			}
			k := next.w.key()
			if seen[k] {
				continue
			}
			seen[k] = true
			if err := next.w.clone().calm(); err != nil {
				t.Fatalf("when faults stop: %v\n%s", err, replay(b, next.moves))
			}
			queue = append(queue, next)
		}
	}
	return len(seen)
}

// TestEveryInterleaving searches all orders of requests, replies, losses, timeouts and restarts, and of the
// events Want, Idle and Shutdown of both sides, within budgets. In every state the two sides use at most one
// connection, and take no action on a connection that has ended. From every state, when faults stop, the two
// sides connect or both end, and every attempt has exactly one result.
func TestEveryInterleaving(t *testing.T) {
	if testing.Short() {
		t.Skip("a search of pure logic: without -short")
	}
	for name, b := range map[string]budget{
		"both want":                 {wants: 2},
		"timeouts":                  {wants: 2, ticks: 3},
		"a fault and timeouts":      {wants: 2, faults: 1, ticks: 1},
		"two faults":                {wants: 2, faults: 2},
		"idle and timeouts":         {wants: 2, idles: 2, ticks: 1},
		"idle and faults":           {wants: 2, idles: 2, faults: 1},
		"shutdown of both":          {wants: 1, shutdowns: 2, ticks: 1},
		"shutdown and faults":       {wants: 2, shutdowns: 2, faults: 1},
		"shutdown, idle, a fault":   {wants: 2, idles: 1, shutdowns: 1, faults: 1},
		"restarts":                  {wants: 2, kills: 2, ticks: 1},
		"a restart and a shutdown":  {wants: 2, kills: 1, shutdowns: 1},
		"a restart, idle, a fault":  {wants: 1, kills: 1, idles: 1, faults: 1},
		"restart, fault and timers": {wants: 1, kills: 1, faults: 1, ticks: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const most = 60_000
			n := search(t, b, most)
			t.Logf("%d states", n)
			if n >= most {
				t.Fatalf("more than %d states: not every one was visited", most)
			}
		})
	}
}

// TestLongRandomRuns makes random runs that are longer than those of the search. It checks the same properties, in the
// states of each run and, when faults stop, after its last state.
func TestLongRandomRuns(t *testing.T) {
	runs := uint64(1000)
	if testing.Short() {
		runs = 300
	}
	for seed := range runs {
		r := rand.New(rand.NewPCG(seed, 3))
		b := budget{wants: r.IntN(30), idles: r.IntN(20), faults: r.IntN(20), ticks: r.IntN(40), kills: r.IntN(4), shutdowns: r.IntN(40) / 39}
		w := newWorld(b)
		for range 300 {
			all := w.moves()
			if len(all) == 0 {
				break
			}
			m := all[r.IntN(len(all))]
			if err := m.do(w); err != nil {
				t.Fatalf("seed %d, %s: %v", seed, m.name, err)
			}
		}
		if err := w.calm(); err != nil {
			t.Fatalf("seed %d, when faults stop: %v", seed, err)
		}
	}
}
