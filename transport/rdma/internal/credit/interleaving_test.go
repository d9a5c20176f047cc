package credit_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// moves returns functions for all events that can happen next in a pair.
func (p *pair) moves() []func(p *pair) error {
	var all []func(p *pair) error
	add := func(possible bool, do func(p *pair) error) {
		if possible {
			all = append(all, do)
		}
	}
	for i := range p.node {
		n := &p.node[i]
		add(n.quota > 0 && n.flow.Unacknowledged() < len(n.slots), func(p *pair) error { p.take(i); return nil })
		add(n.flow.Queued() > 0 && n.flow.Credits() > 0, func(p *pair) error {
			if p.node[i].flow.Due() {
				p.update(i)
			}
			p.put(i)
			return nil
		})
		add(n.flow.Due() || n.flow.Owed(), func(p *pair) error { p.update(i); return nil })
		add(len(p.toward[i]) > 0, func(p *pair) error { return p.deliver(i) })
		add(n.held > 0, func(p *pair) error { p.giveBack(i, 1); return nil })
		add(p.widens > 0, func(p *pair) error { p.widens--; p.node[i].flow.Widen(2); return nil })
	}
	add(p.breaks > 0, func(p *pair) error {
		p.breaks--
		for i := range p.node {
			p.node[i].flow.Disconnect()
			if _, ok := p.node[i].flow.Next(); ok {
				return fmt.Errorf("node %d sends without a connection", i)
			}
		}
		p.connect()
		return nil
	})
	return all
}

// TestEveryInterleaving searches all orders of sending, arriving, returning credit, updating, widening the
// window and breaking the connection, for small windows and few slots. The test checks that in every state
// each frame in flight finds a receive. It also checks that from every state every message is delivered once
// and in order, even if a side sends only the updates that are due. If the sides also send the updates that
// they owe, all messages are acknowledged in the end. No frame arrives twice.
func TestEveryInterleaving(t *testing.T) {
	type setting struct {
		slots, window         [2]int
		quota, breaks, widens int
	}
	settings := []setting{
		{[2]int{1, 1}, [2]int{1, 1}, 1, 1, 1},
		{[2]int{1, 1}, [2]int{1, 1}, 2, 1, 0},
		{[2]int{2, 4}, [2]int{3, 1}, 1, 1, 0},
	}
	if testing.Short() {
		settings = settings[:1]
	}
	if os.Getenv("GORUN_SOAK") == "1" {
		settings = append(settings,
			setting{[2]int{4, 1}, [2]int{1, 3}, 2, 0, 0},
			setting{[2]int{1, 1}, [2]int{1, 1}, 2, 0, 1},
			setting{[2]int{2, 1}, [2]int{1, 2}, 2, 0, 1},
			setting{[2]int{2, 2}, [2]int{2, 2}, 2, 0, 0})
	}
	for _, s := range settings {
		t.Run(fmt.Sprintf("%+v", s), func(t *testing.T) {
			t.Parallel()
			queue, seen := []*pair{newPair(s.slots, s.window, s.quota, s.breaks, s.widens)}, map[state]bool{}
			for len(queue) > 0 {
				p := queue[len(queue)-1]
				queue = queue[:len(queue)-1]
				for _, move := range p.moves() {
					next := p.clone()
					if err := move(next); err != nil {
						t.Fatal(err)
					}
					key := next.state()
					if seen[key] {
						continue
					}
					seen[key] = true
					if err := next.check(); err != nil {
						t.Fatal(err)
					}
					for _, owed := range []bool{false, true} {
						rest := next.clone()
						rest.node[0].quota += 5
						rest.node[1].quota += owedQuota(owed)
						if err := rest.calm(owed); err != nil {
							t.Fatalf("%v\nfrom %+v", err, *next)
						}
					}
					queue = append(queue, next)
				}
			}
			t.Logf("%d states", len(seen))
			require.Less(t, len(seen), 1_000_000)
		})
	}
}

// owedQuota returns the number of further messages of node 1. If owed is false, node 1 gets no further
// messages to send, so that the further messages flow in one direction only.
func owedQuota(owed bool) int {
	if owed {
		return 5
	}
	return 0
}

// TestRandomRuns makes long random runs with windows and slots of many sizes, over connections that break. In
// the longest runs the sequence numbers wrap around. No frame arrives twice.
func TestRandomRuns(t *testing.T) {
	seeds := uint64(20)
	if testing.Short() {
		seeds = 6
	}
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 4))
		slots := [2]int{1 << r.IntN(8), 1 << r.IntN(8)}
		window := [2]int{1 + r.IntN(40), 1 + r.IntN(40)}
		p := newPair(slots, window, 1<<30, 20, 50)
		lucky := r.IntN(3) // in lucky+1 of three rounds, the pair delivers all frames
		for round := range 120 {
			for range 60 {
				all := p.moves()
				if err := all[r.IntN(len(all))](p); err != nil {
					t.Fatalf("seed %d, round %d: %v", seed, round, err)
				}
				if err := p.check(); err != nil {
					t.Fatalf("seed %d, round %d: %v", seed, round, err)
				}
			}
			if round%3 <= lucky {
				p.node[0].quota, p.node[1].quota = r.IntN(2000), r.IntN(2000)
				if err := p.calm(r.IntN(2) == 0); err != nil {
					t.Fatalf("seed %d, round %d: %v", seed, round, err)
				}
				p.node[0].quota, p.node[1].quota = 1<<30, 1<<30
			}
		}
		p.node[0].quota, p.node[1].quota = 1000, 0
		if err := p.calm(true); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}
