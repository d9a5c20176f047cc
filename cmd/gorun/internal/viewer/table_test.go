package viewer_test

import (
	"regexp"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/bootstrap"
	"github.com/gorun-hpc/gorun/cmd/gorun/internal/inspection"
)

// The table shows rates from the second report on.
func TestTableOfOneRank(t *testing.T) {
	s := newTerminal(t, report(1, 1), 80, 8)
	s.require(`
no rank waits: rank 0 runs
job 7-ab on h for 1s: gorun ./prog
1 ranks, 1 of them joined, 0 ended
  rank  state     messages/s  bytes/s waiting % unexpected  where
>     0  computing          -        -         -          0  at a.go:1 (main.f)


q quit | enter operations | r s m b w u sort | arrows move      1-1 of 1 by rank`)
	s.report(report(1, 2)).require(`
no rank waits: rank 0 runs
job 7-ab on h for 2s: gorun ./prog
1 ranks, 1 of them joined, 0 ended
  rank  state     messages/s  bytes/s waiting % unexpected  where
>     0  computing          0        0         0          0  at a.go:1 (main.f)


q quit | enter operations | r s m b w u sort | arrows move      1-1 of 1 by rank`)
}

// manyHead has the first lines of the table of 1,000 ranks.
const manyHead = `
ranks 0,2,4,6,8,10,12,14,16,18,20,22,24,26,28,30,32,34,36,38,40,42,44,46,48,50,
52,54,56,58,60,62,64,66,68,70,72,74,76,78,80,82,84,86,88,90,92,94,96,98,100,102,
104,106,108,110,112,114,116,118,120,122,124,126,128,130,132,134,136,138,140,142,
144,146,148,150,152,154,156,158,160,162,164,166,168,170,172,174,176,178,180,1...
`

// A long summary is broken at blanks and commas and cut, and the table gets the remaining lines.
// Horizontal scrolling moves all columns except the rank.
func TestTableOfManyRanks(t *testing.T) {
	s := newTerminal(t, report(1000, 1), 80, 11).report(report(1000, 2))
	s.require(manyHead + `  rank  state     messages/s  bytes/s waiting % unexpected  where
>     0  waiting            0        0         0          0  receive, tag 7, at b
     1  computing          1       10         7          1  at a.go:1 (main.f)
     2  waiting            2       20        14          2  receive, tag 7, at b
     3  computing          3       30        21          0  at a.go:1 (main.f)
     4  waiting            4       40        28          1  receive, tag 7, at b
q quit | enter operations | r s m b w u sort | arrows move   1-5 of 1000 by rank`)
	moved := manyHead + `  rank       messages/s  bytes/s waiting % unexpected  where
   995  ting        995    9.95k        65          2  at a.go:1 (main.f)
   996  ng          996    9.96k        72          0  receive, tag 7, at b.go:2
   997  ting        997    9.97k        79          1  at a.go:1 (main.f)
   998  ng          998    9.98k        86          2  receive, tag 7, at b.go:2
>   999  ting        999    9.99k        93          0  at a.go:1 (main.f)
q quit | enter operations | r s m b w u sort ...        996-1000 of 1000 by rank`
	s.press("end right").require(moved)
	s.press("right right").require(moved)
	s.press("left left left home up")
	require.Equal(t, ">0 1 2 3 4", s.ranks())
	require.Contains(t, s.lines()[4], "  rank  state     messages/s")
}

// On a small terminal, the first line is for the summary. Further lines are for ranks, keys and the heading,
// in this order. At every size, the view fits into the terminal.
func TestNarrowTerminals(t *testing.T) {
	for height, want := range []string{1: `
ranks 0,2 wait at...`, 2: `
ranks 0,2 wait at...
>     0  waiting`, 3: `
ranks 0,2 wait at...
>     0  waiting
     1  computing`, 4: `
ranks 0,2 wait at...
  rank  state     me
>     0  waiting
q quit ...`, 5: `
ranks 0,2 wait at...
  rank  state     me
>     0  waiting
     1  computing
q quit ...`, 8: `
ranks 0,2 wait at
b.go:2 for rank 1;
rank 1 runs, at...
  rank  state     me
>     0  waiting
     1  computing
     2  waiting
q quit ...`} {
		if want != "" {
			newTerminal(t, report(3, 1), 20, height).require(want)
		}
	}
	for width := 1; width < 100; width += 7 { // send checks that each view fits
		for height := 1; height < 20; height += 2 {
			s := newTerminal(t, report(9, 1), width, height).press("down right")
			s.press("enter").press("esc")
		}
	}
}

// The selected rank stays visible when the terminal changes its size.
func TestResize(t *testing.T) {
	s := newTerminal(t, report(9, 1), 80, 30).press("end up")
	require.Equal(t, "0 1 2 3 4 5 6 >7 8", s.ranks())
	s.send(tea.WindowSizeMsg{Width: 80, Height: 10})
	require.Equal(t, "4 5 6 >7", s.ranks())
	s.send(tea.WindowSizeMsg{Width: 80, Height: 12})
	require.Equal(t, "4 5 6 >7 8", s.ranks())
	s.send(tea.WindowSizeMsg{Width: 80, Height: 30})
	require.Equal(t, "0 1 2 3 4 5 6 >7 8", s.ranks())
}

// The selection stops at the first and at the last rank. The table scrolls only if the selected rank would
// otherwise not be visible.
func TestSelection(t *testing.T) {
	s := newTerminal(t, report(20, 1), 80, 12)
	for _, c := range []struct{ keys, want string }{
		{"", ">0 1 2 3 4"},
		{"up", ">0 1 2 3 4"},
		{"down down", "0 1 >2 3 4"},
		{"down down", "0 1 2 3 >4"},
		{"down", "1 2 3 4 >5"},
		{"up up up up", ">1 2 3 4 5"},
		{"up", ">0 1 2 3 4"},
		{"pgdown", "1 2 3 4 >5"},
		{"pgdown", "6 7 8 9 >10"},
		{"pgup", ">5 6 7 8 9"},
		{"end", "15 16 17 18 >19"},
		{"down pgdown", "15 16 17 18 >19"},
		{"up up", "15 16 >17 18 19"},
		{"pgup", ">12 13 14 15 16"},
		{"home", ">0 1 2 3 4"},
		{"pgup", ">0 1 2 3 4"},
	} {
		s.press(c.keys)
		require.Equal(t, c.want, s.ranks(), c.keys)
	}
}

// underlined matches an underlined letter.
var underlined = regexp.MustCompile(`\x1b\[[0-9;]*4m(.)\x1b`)

// The keys sort the ranks by each column. Rates are sorted in descending order. A second press of the same
// key reverses the order. Ranks without a rate come after all other ranks, and before them in the reversed
// order.
func TestSort(t *testing.T) {
	now := report(5, 2)
	rates := []struct{ messages, bytes, waited, unexpected uint64 }{{7, 1, 30, 3}, {8, 2, 10, 1}, {0, 0, 0, 2}, {9, 1, 20, 0}, {7, 4, 5, 2}}
	before := report(5, 1)
	for i, r := range rates {
		then, c := &before.Counts[i], &now.Counts[i]
		c.Messages, c.Bytes, c.Unexpected = then.Messages+r.messages, then.Bytes+r.bytes, r.unexpected
		c.Waited = then.Waited + at(float64(r.waited)/100).Sub(at(0))
	}
	now.Counts = append(now.Counts[:2], now.Counts[3:]...) // rank 2 has no counters
	s := newTerminal(t, before, 80, 24).report(now)
	for _, c := range []struct{ key, title, want string }{
		{"m", "messages/s", "3 1 0 4 2"},
		{"b", "bytes/s", "4 1 0 3 2"},
		{"w", "waiting %", "0 3 1 4 2"},
		{"u", "unexpected", "0 4 1 3 2"},
		{"s", "state", "1 3 0 2 4"},
		{"r", "rank", "0 1 2 3 4"},
	} {
		s.press("down " + c.key)
		require.Equal(t, ">"+c.want, s.ranks(), c.title)
		require.True(t, strings.HasSuffix(s.lines()[23], " 1-5 of 5 by "+c.title))
		title := ""
		for _, m := range underlined.FindAllStringSubmatch(s.model.View().Content, -1) {
			title += m[1]
		}
		require.Equal(t, c.title, title)
		s.press(c.key)
		require.True(t, strings.HasSuffix(s.lines()[23], " 1-5 of 5 by "+c.title+", reversed"))
		reversed := map[string]string{"m": "2 0 4 1 3", "b": "2 0 3 1 4", "w": "2 4 1 3 0", "u": "2 3 1 4 0", "s": "0 2 4 1 3", "r": "4 3 2 1 0"}
		require.Equal(t, ">"+reversed[c.key], s.ranks(), c.title)
		s.press(c.key)
		require.Equal(t, ">"+c.want, s.ranks(), c.title)
	}
}

// In the order of ranks, the selection stays on the same rank when other ranks end. In other orders, it stays
// in the same line.
func TestRankDisappears(t *testing.T) {
	s := newTerminal(t, report(6, 1), 80, 24).report(report(6, 2)).press("down down")
	without := func(seconds float64, gone int) *inspection.Report {
		r := report(6, seconds)
		r.Doing = append(r.Doing[:gone], r.Doing[gone+1:]...)
		r.Ended = 1
		return r
	}
	s.report(without(3, 1))
	require.Equal(t, "0 >2 3 4 5", s.ranks())
	s.report(without(4, 2))
	require.Equal(t, "0 >1 3 4 5", s.ranks(), "the selected rank is gone")
	s.press("m end")
	require.Equal(t, "5 4 3 1 >0", s.ranks())
	s.report(without(5, 5))
	require.Equal(t, "4 3 2 1 >0", s.ranks())
	none := report(6, 6)
	none.Doing = nil
	s.report(none).press("enter down")
	require.Equal(t, "", s.ranks())
	s.report(report(6, 7))
	require.Equal(t, ">5 4 3 2 1 0", s.ranks())
}

// Control characters in the reports of ranks are escaped, so that they cannot control the terminal or add
// lines.
func TestHostileText(t *testing.T) {
	const hostile = "\x1b[2J\x1b]0;title\a\r\n\u009b31m\t\u202e\x7f"
	r := report(2, 1)
	r.Command = []string{hostile}
	r.Doing = []bootstrap.Doing{
		{Rank: 0, Size: 2, Waits: []bootstrap.Wait{{Op: hostile, What: hostile, Among: "1", Line: hostile, Function: hostile}}},
		{Rank: 1, Size: 2, Line: hostile, Function: hostile},
	}
	s := newTerminal(t, r, 2000, 7)
	require.Len(t, s.lines(), 7)
	require.Equal(t, ">0 1", s.ranks())
	for i, line := range s.lines() {
		require.False(t, strings.ContainsAny(line, "\x1b\a\r\t\u009b\u202e\x7f"), i)
	}
	const harmless = `\x1b[2J\x1b]0;title\x07 \u009b31m \u202e\x7f`
	require.Contains(t, s.lines()[0], harmless)
	require.Contains(t, s.lines()[1], harmless)
	require.Contains(t, s.lines()[4], harmless)
	require.Equal(t, 6, strings.Count(s.last(), "\n"))
	require.NotContains(t, s.last(), "\x1b")
}
