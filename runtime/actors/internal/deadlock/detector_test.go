package deadlock_test

import (
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime/actors/internal/deadlock"
)

// job is a set of actors on several ranks that wait for each other. Actor i is on rank i modulo
// the number of ranks, and is named by its number.
type job struct {
	ranks []deadlock.Detector[int, int]
	// transit has the probes in transit, each with its destination.
	transit []arrival
	found   map[int]bool // actors that got their own probe back
}

type arrival struct {
	p  deadlock.Probe
	at int
}

func newJob(ranks int) *job {
	return &job{ranks: make([]deadlock.Detector[int, int], ranks), found: map[int]bool{}}
}

func (j *job) rank(actor int) int { return actor % len(j.ranks) }

func (j *job) origin(actor int) deadlock.Origin {
	return deadlock.Origin{Rank: j.rank(actor), ID: fmt.Sprint(actor)}
}

// wait lets one actor, number who, wait for another actor, number target.
func (j *job) wait(who, target int) {
	d := &j.ranks[j.rank(who)]
	if begins, _ := d.Hold(who, target, 1, 1<<30); begins {
		j.transit = append(j.transit, arrival{d.Begin(j.origin(who)), target})
	}
}

// arrive delivers the probe with index i in transit.
func (j *job) arrive(i int) {
	a := j.transit[i]
	j.transit = append(j.transit[:i], j.transit[i+1:]...)
	if a.p.Origin == j.origin(a.at) {
		j.found[a.at] = true
		return
	}
	for _, next := range j.ranks[j.rank(a.at)].Pass(a.p, a.at) {
		j.transit = append(j.transit, arrival{a.p, next})
	}
}

// reaches returns, for each pair of actors, whether a path of edges leads from the first to the
// second.
func reaches(n int, edges [][2]int) [][]bool {
	r := make([][]bool, n)
	for i := range r {
		r[i] = make([]bool, n)
	}
	for _, e := range edges {
		r[e[0]][e[1]] = true
	}
	for k := range n {
		for i := range n {
			for j := range n {
				r[i][j] = r[i][j] || r[i][k] && r[k][j]
			}
		}
	}
	return r
}

// check starts the waits in random order, while probes arrive at random times. An actor that gets
// its own probe back must be in a cycle, and each cycle must have such an actor.
func check(t *testing.T, n, ranks int, edges [][2]int, r *rand.Rand) {
	t.Helper()
	j := newJob(ranks)
	order := r.Perm(len(edges))
	steps := 0
	for len(order)+len(j.transit) > 0 {
		steps++
		require.Less(t, steps, 100_000, "probes are passed on for ever")
		if k := r.IntN(len(order) + len(j.transit)); k < len(order) {
			j.wait(edges[order[0]][0], edges[order[0]][1])
			order = order[1:]
		} else {
			j.arrive(k - len(order))
		}
	}
	leads := reaches(n, edges)
	for i := range n {
		require.False(t, j.found[i] && !leads[i][i], "%d is in no cycle of %v", i, edges)
		together := false
		for k := range n {
			together = together || leads[i][k] && leads[k][i] && j.found[k]
		}
		require.Equal(t, leads[i][i], together, "the cycle of %d in %v", i, edges)
	}
}

// TestCycles checks all graphs of four actors, and some graphs of 30 actors.
func TestCycles(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const n = 4
	var all [][2]int
	for i := range n {
		for k := range n {
			if i != k {
				all = append(all, [2]int{i, k})
			}
		}
	}
	for set := range 1 << len(all) {
		var edges [][2]int
		for i, e := range all {
			if set>>i&1 == 1 {
				edges = append(edges, e)
			}
		}
		check(t, n, 1+set%3, edges, r)
	}
	for range 300 {
		const many = 30
		edges := make([][2]int, 0, 2*many)
		for range r.IntN(2 * many) {
			edges = append(edges, [2]int{r.IntN(many), r.IntN(many)})
		}
		check(t, many, 1+r.IntN(4), edges, r)
	}
}

// TestProbesArePassedOnOnce checks that a probe is forwarded once, and that a probe with a later
// number is forwarded again, also after the number has wrapped.
func TestProbesArePassedOnOnce(t *testing.T) {
	d := &deadlock.Detector[string, int]{}
	origin := deadlock.Origin{Rank: 9, ID: "x"}
	require.Empty(t, d.Pass(deadlock.Probe{Origin: origin, Number: 1}, "a"), "it does not wait")
	d.Hold("a", 5, 10, 100)
	for _, c := range []struct {
		number uint32
		passed bool
	}{{1<<32 - 2, true}, {1<<32 - 2, false}, {1<<32 - 3, false}, {1<<32 - 1, true}, {0, true}, {0, false}, {1, true}} {
		require.Equal(t, c.passed, len(d.Pass(deadlock.Probe{Origin: origin, Number: c.number}, "a")) == 1, c.number)
	}
	require.Equal(t, []int{5}, d.Pass(deadlock.Probe{Origin: deadlock.Origin{Rank: 8, ID: "x"}, Number: 1}, "a"), "of another actor")
}

// TestHolding checks that the waiting bytes of an actor are bounded. The first waiting message is
// accepted at any length. An actor waits for a target until all bytes for this target have been
// sent.
func TestHolding(t *testing.T) {
	d := &deadlock.Detector[string, int]{}
	begins, held := d.Hold("a", 1, 500, 100)
	require.True(t, begins && held, "one message always fits")
	_, held = d.Hold("a", 2, 1, 100)
	require.False(t, held)
	require.Equal(t, []int{1}, d.Targets("a"))
	d.Release("a", 1, 450)
	begins, held = d.Hold("a", 1, 20, 100)
	require.True(t, !begins && held)
	begins, held = d.Hold("a", 2, 30, 100)
	require.True(t, begins && held)
	require.ElementsMatch(t, []int{1, 2}, d.Targets("a"))
	require.Empty(t, d.Targets("b"))
	d.Release("a", 1, 70)
	require.Equal(t, []int{2}, d.Targets("a"))
	d.Release("a", 2, 30)
	require.Empty(t, d.Targets("a"))
	d.Release("a", 2, 30)
	begins, held = d.Hold("a", 1, 200, 100)
	require.True(t, begins && held)
	require.EqualValues(t, 1, d.Begin(deadlock.Origin{}).Number, "Hold begins no probe")
}

func TestProbesOnTheWire(t *testing.T) {
	d := &deadlock.Detector[string, int]{}
	d.Begin(deadlock.Origin{})
	p := d.Begin(deadlock.Origin{Rank: 258, ID: "ab"})
	b := p.Append([]byte{1})
	require.Equal(t, "01"+"02010000"+"02000000"+"6162", hex.EncodeToString(b))
	got, ok := deadlock.Parse(b[1:])
	require.True(t, ok)
	require.Equal(t, p, got)
	_, ok = deadlock.Parse(b[:7])
	require.False(t, ok)
}
