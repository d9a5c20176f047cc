package main

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// clock returns a function that advances a virtual clock by step and returns its time.
func clock() func(step time.Duration) time.Time {
	now := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	return func(step time.Duration) time.Time {
		now = now.Add(step)
		return now
	}
}

func plainTag(dst []byte, _ time.Time) []byte { return append(dst, "> "...) }

// feedAll feeds data in random pieces and returns the whole output.
func feedAll(s *splitter, r *rand.Rand, data []byte) []byte {
	tick := clock()
	var out []byte
	for len(data) > 0 {
		n := 1 + r.IntN(len(data))
		out = append(out, s.feed(data[:n], tick(time.Millisecond))...)
		data = data[n:]
	}
	return append(out, s.end()...)
}

// Without a tag, the splitter changes no byte, for any division of the data into pieces.
func TestUntaggedBytesAreNotChanged(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, hold := range []bool{true, false} {
		for range 200 {
			data := make([]byte, r.IntN(300))
			for i := range data {
				data[i] = "ab\n\x00\r\xff"[r.IntN(6)]
			}
			require.Equal(t, string(data), string(feedAll(newSplitter(nil, hold), r, data)))
		}
	}
}

// With a tag, each line begins with the tag. The last line gets a newline if it has none.
func TestTaggedLinesAgainstOracle(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		data := make([]byte, r.IntN(300))
		for i := range data {
			data[i] = "ab\n\x00\r\xff"[r.IntN(6)]
		}
		var want strings.Builder
		for line := range strings.Lines(string(data)) {
			want.WriteString("> " + strings.TrimSuffix(line, "\n") + "\n")
		}
		require.Equal(t, want.String(), string(feedAll(newSplitter(plainTag, true), r, data)))
	}
}

// FuzzSplitter checks, for arbitrary data, that untagged output is unchanged and that each line of tagged
// output begins with the tag.
func FuzzSplitter(f *testing.F) {
	f.Add([]byte("one\ntwo\n\nthree"), uint64(1))
	f.Add([]byte("\n\n"), uint64(2))
	f.Add([]byte("a\x00\r\n\xff"), uint64(3))
	f.Fuzz(func(t *testing.T, data []byte, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 0))
		for _, hold := range []bool{true, false} {
			require.Equal(t, string(data), string(feedAll(newSplitter(nil, hold), r, data)))
		}
		var want strings.Builder
		for line := range strings.Lines(string(data)) {
			want.WriteString("> " + strings.TrimSuffix(line, "\n") + "\n")
		}
		require.Equal(t, want.String(), string(feedAll(newSplitter(plainTag, true), r, data)))
	})
}

// A line that arrives in pieces is held back and comes out whole.
func TestHeldLineComesOutWhole(t *testing.T) {
	tick := clock()
	s := newSplitter(nil, true)
	require.Equal(t, "one\n", string(s.feed([]byte("one\ntw"), tick(0))))
	require.True(t, s.pending())
	require.Equal(t, "two\n", string(s.feed([]byte("o\n"), tick(time.Second))))
	require.False(t, s.pending())
	require.Empty(t, s.end())
}

// A line that is flushed before its end gets a mark. The rest of the line gets the tag again.
func TestFlushedLineIsMarkedAndGoesOn(t *testing.T) {
	tick := clock()
	s := newSplitter(plainTag, true)
	require.Empty(t, s.feed([]byte("ab"), tick(0)))
	require.Equal(t, "> ab\\\n", string(s.flush()))
	require.Equal(t, "> cd\n> ef\n", string(s.feed([]byte("cd\nef\n"), tick(0))))
}

// An unfinished line is due some time after its last piece, and at the latest some time after its
// first piece.
func TestWhenALineIsDue(t *testing.T) {
	tick := clock()
	s := newSplitter(plainTag, true)
	start := tick(0)
	s.feed([]byte("."), start)
	require.Equal(t, start.Add(partialDelay), s.due())
	var last time.Time
	for range 20 { // pieces without a newline, such as dots of progress
		last = tick(60 * time.Millisecond)
		s.feed([]byte("."), last)
	}
	require.Equal(t, start.Add(partialAgeMax), s.due())
	s.flush()
	s.feed([]byte("."), last)
	require.Equal(t, last.Add(partialDelay), s.due())
}

// An unfinished line waits until the other ranks have written nothing for a moment, but not
// forever.
func TestALineWaitsForOthersToBeQuiet(t *testing.T) {
	start := clock()(0)
	s := newSplitter(plainTag, true)
	s.feed([]byte("a"), start)
	var w writers
	a, b := new(source), new(source)
	require.Equal(t, start.Add(partialDelay), s.dueAmong(w.others(a)))
	w.wrote(a, start)
	require.Equal(t, start.Add(partialDelay), s.dueAmong(w.others(a)), "output of the same rank does not delay the line")
	w.wrote(b, start.Add(time.Millisecond))
	w.wrote(a, start.Add(2*time.Millisecond))
	w.wrote(a, start.Add(3*time.Millisecond))
	require.Equal(t, start.Add(time.Millisecond+crowdDelay), s.dueAmong(w.others(a)))
	require.Equal(t, start.Add(3*time.Millisecond+crowdDelay), s.dueAmong(w.others(b)))
	w.wrote(b, start.Add(time.Hour))
	require.Equal(t, start.Add(crowdAgeMax), s.dueAmong(w.others(a)), "not for ever")
}

// The time in which gorun itself was stalled does not count as time without output.
func TestATimeWithoutLookingIsNoSilence(t *testing.T) {
	start := clock()(0)
	a := &source{lines: newSplitter(plainTag, true)}
	o := &output{partial: []*source{a}}
	a.lines.feed([]byte("a"), start)
	o.writers.wrote(new(source), start)
	o.stalled(time.Hour)
	require.Equal(t, start.Add(time.Hour+crowdDelay), a.lines.dueAmong(o.writers.others(a)))
	require.Equal(t, start.Add(time.Hour+partialDelay), a.lines.due())
	o.writers.wrote(new(source), start.Add(2*time.Hour))
	require.Equal(t, start.Add(time.Hour+crowdAgeMax), a.lines.dueAmong(o.writers.others(a)))
	a.lines.feed([]byte("\nb"), start)
	require.Equal(t, start.Add(partialDelay), a.lines.due(), "another line has not waited")
}

// A line without an end comes out in marked pieces, so that the splitter holds a bounded number of
// bytes.
func TestEndlessLineComesInPieces(t *testing.T) {
	s := newSplitter(plainTag, true)
	tick := clock()
	var out []byte
	piece := bytes.Repeat([]byte("x"), 64<<10)
	for range 40 {
		out = append(out, s.feed(piece, tick(0))...)
		require.Less(t, len(s.held), lineBytesMax)
	}
	out = append(out, s.end()...)
	require.Equal(t, 40*len(piece), bytes.Count(out, []byte("x")))
	require.Equal(t, 2, bytes.Count(out, []byte(continued)))
}
