package engine

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// naive implements matching by its definition: lists that are searched from the front.
type naive struct {
	posted []key // ids has the id of each of these receives
	ids    []int
	stored []key
	names  []int
}

func covers(want, have key) bool {
	return want.context == have.context &&
		(want.source == AnySource || want.source == have.source) &&
		(want.tag == AnyTag || want.tag == have.tag)
}

// post returns the stored message that the receive gets, or -1.
func (n *naive) post(k key, id int) int {
	for i, s := range n.stored {
		if covers(k, s) {
			name := n.names[i]
			n.stored = append(n.stored[:i:i], n.stored[i+1:]...)
			n.names = append(n.names[:i:i], n.names[i+1:]...)
			return name
		}
	}
	n.posted, n.ids = append(n.posted, k), append(n.ids, id)
	return -1
}

// arrive returns the receive that gets the message, or -1.
func (n *naive) arrive(k key, name int) int {
	for i, p := range n.posted {
		if covers(p, k) {
			return n.cancel(n.ids[i])
		}
	}
	n.stored, n.names = append(n.stored, k), append(n.names, name)
	return -1
}

// cancel removes a posted receive.
func (n *naive) cancel(id int) int {
	for i := range n.ids {
		if n.ids[i] == id {
			n.posted = append(n.posted[:i:i], n.posted[i+1:]...)
			n.ids = append(n.ids[:i:i], n.ids[i+1:]...)
			return id
		}
	}
	return -1
}

// probe returns the message that a probe sees, or -1.
func (n *naive) probe(k key) int {
	for i, s := range n.stored {
		if covers(k, s) {
			return n.names[i]
		}
	}
	return -1
}

// real is the engine's matcher with the methods of naive.
type real struct {
	matcher
	receives map[int]*entry
	messages map[int]*message
}

func newReal() *real {
	return &real{receives: map[int]*entry{}, messages: map[int]*message{}}
}

func (r *real) nameOf(g *message) int {
	if g == nil {
		return -1
	}
	return int(g.id)
}

func (r *real) post(k key, id int) int {
	if g := r.look(k); g != nil {
		r.take(g)
		return r.nameOf(g)
	}
	e := &entry{key: k, req: &Request{id: uint32(id)}}
	r.receives[id] = e
	r.matcher.post(e)
	return -1
}

func (r *real) arrive(k key, name int) int {
	if e := r.receive(k); e != nil {
		return int(e.req.id)
	}
	g := &message{id: uint32(name)}
	r.messages[name] = g
	r.add(g, k)
	return -1
}

func (r *real) cancel(id int) int {
	if e := r.receives[id]; e != nil && r.unpost(e) {
		return id
	}
	return -1
}

func (r *real) probe(k key) int { return r.nameOf(r.look(k)) }

func TestMatcherAgreesWithTheNaiveOne(t *testing.T) {
	seeds := uint64(60)
	if testing.Short() {
		seeds = 10
	}
	for seed := range seeds {
		rng := rand.New(rand.NewPCG(seed, 1))
		want, got := &naive{}, newReal()
		wild, space := rng.IntN(3), 1+rng.IntN(6)
		some := func() key {
			return key{uint32(rng.IntN(2)), int32(rng.IntN(space)), int32(rng.IntN(space))}
		}
		for step := range 3000 {
			k := some()
			var w, g int
			switch what := rng.IntN(10); {
			case what < 4:
				w, g = want.arrive(k, step), got.arrive(k, step)
			case what < 8:
				if rng.IntN(3) < wild {
					k = k.as(shape(rng.IntN(shapesTotal)))
				}
				w, g = want.post(k, step), got.post(k, step)
			case what < 9:
				if rng.IntN(3) < wild {
					k = k.as(shape(rng.IntN(shapesTotal)))
				}
				w, g = want.probe(k), got.probe(k)
			default:
				id := rng.IntN(step + 1)
				w, g = want.cancel(id), got.cancel(id)
			}
			require.Equal(t, w, g, "seed %d step %d key %v", seed, step, k)
		}
		require.Equal(t, len(want.posted), got.waiting(), "seed %d", seed)
		require.Equal(t, len(want.stored), got.unexpected[shapeExact].entries, "seed %d", seed)
	}
}

// steps returns the number of entries that a lookup compares.
func steps(tb *table, k key) int {
	n := 0
	for e := tb.buckets[k.hash()&uint32(len(tb.buckets)-1)]; e != nil && e.key != k; e = e.chain {
		n++
	}
	return n
}

func TestMatchingDoesNotSearchUnrelatedEntries(t *testing.T) {
	m := newReal()
	const many = 20_000
	for i := range many {
		m.matcher.post(&entry{key: key{1, int32(i % 100), int32(i)}, req: &Request{}})
		m.matcher.post(&entry{key: key{1, 7, 7}, req: &Request{}}) // makes one long queue
		m.arrive(key{2, int32(i % 100), int32(i)}, i)
	}
	worst := 0
	for i := range many {
		worst = max(worst, steps(&m.posted[shapeExact], key{1, int32(i % 100), int32(i)}),
			steps(&m.unexpected[shapeExact], key{2, int32(i % 100), int32(i)}))
	}
	require.Less(t, worst, 16, "entries compared for one lookup")
}

// waiting returns the number of posted receives.
func (r *real) waiting() (n int) {
	r.eachPosted(func(*entry) { n++ })
	return n
}

// TestReceivesOfOneKeyAreInNoTable checks receives with the same key. While the tables are empty,
// these receives are in the front queue and not in the tables, and are matched before the
// receives in the tables. While the tables hold a receive, later receives do not join the front
// queue.
func TestReceivesOfOneKeyAreInNoTable(t *testing.T) {
	m := newReal()
	wild, exact := key{0, AnySource, AnyTag}, key{0, 3, 5}
	for round, end := range []func(id int) int{
		func(int) int { return m.arrive(exact, 100) },
		m.cancel,
	} {
		id := func(i int) int { return 10*round + i }
		for i := range 3 {
			m.post(wild, id(i))
			require.Zero(t, m.tabled())
			require.True(t, m.receives[id(i)].ahead)
		}
		require.Same(t, m.receives[id(0)], m.front.head)
		require.Same(t, m.receives[id(2)], m.front.tail)
		m.post(exact, id(3))
		m.post(wild, id(4))
		require.Equal(t, 1, m.posted[shapeExact].entries)
		require.Equal(t, 1, m.posted[shapeAny].entries, "an older receive is in the tables")
		require.Equal(t, id(1), m.cancel(id(1)), "from the middle")
		require.Equal(t, -1, m.cancel(id(1)))
		require.Equal(t, id(0), end(id(0)))
		require.Equal(t, id(2), end(id(2)))
		require.Equal(t, queue{}, m.front)
		m.post(wild, id(5))
		require.Nil(t, m.front.head, "older receives are in the tables")
		for _, i := range []int{3, 4, 5} {
			require.Equal(t, id(i), m.arrive(exact, 101))
		}
		require.Zero(t, m.waiting())
		require.Equal(t, -1, m.cancel(id(5)))
	}
}

// TestTheFrontLosesItsTail removes the last receive of the front queue first. The receive before
// it must become the last.
func TestTheFrontLosesItsTail(t *testing.T) {
	m, k := newReal(), key{1, 0, 7}
	for id := range 3 {
		m.post(k, id)
	}
	require.Equal(t, 2, m.cancel(2))
	m.post(k, 3)
	for _, id := range []int{0, 1, 3} {
		require.Equal(t, id, m.arrive(k, 100))
	}
	require.Equal(t, -1, m.arrive(k, 104))
}

var update = flag.Bool("update", false, "rewrite testdata")

// TestMatcherTranscripts runs testdata/*.match. Each line is a command, followed by its result.
func TestMatcherTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.match")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, name := range files {
		t.Run(filepath.Base(name), func(t *testing.T) {
			text, err := os.ReadFile(name)
			require.NoError(t, err)
			out := transcript(t, text)
			if *update {
				require.NoError(t, os.WriteFile(name, out, 0o644))
			}
			require.Equal(t, string(text), string(out))
		})
	}
}

// transcript runs the commands of a transcript and returns them with their present results.
func transcript(t *testing.T, text []byte) []byte {
	t.Helper()
	m, oracle := newReal(), &naive{}
	var out bytes.Buffer
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		line, _, _ := strings.Cut(lines.Text(), " -> ")
		out.WriteString(line)
		if line == "" || line[0] == '#' {
			out.WriteByte('\n')
			continue
		}
		var verb string
		var id int
		var k key
		_, err := fmt.Sscan(line, &verb, &id, &k.context, &k.source, &k.tag)
		if verb != "cancel" {
			require.NoError(t, err, line)
		}
		var result, want int
		switch verb {
		case "post":
			result, want = m.post(k, id), oracle.post(k, id)
		case "arrive":
			result, want = m.arrive(k, id), oracle.arrive(k, id)
		case "probe":
			result, want = m.probe(k), oracle.probe(k)
		case "cancel":
			result, want = m.cancel(id), oracle.cancel(id)
		default:
			require.Fail(t, "no such verb", line)
		}
		require.Equal(t, want, result, line)
		fmt.Fprintf(&out, " -> %d\n", result)
	}
	return out.Bytes()
}
