package viewer_test

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/bootstrap"
	"github.com/gorun-hpc/gorun/cmd/gorun/internal/inspection"
	"github.com/gorun-hpc/gorun/cmd/gorun/internal/viewer"
	"github.com/gorun-hpc/gorun/internal/flight"
)

// at returns the time that is the given number of seconds after the start of the job.
func at(seconds float64) time.Time {
	return time.Unix(0, 0).Add(time.Duration(seconds * float64(time.Second)))
}

// report returns a report of a job with the given number of ranks. The even ranks wait for their neighbours,
// and the odd ranks compute. Rank n has sent n messages of 10 bytes per second, and has waited for (7 n mod
// 100) % of the time.
func report(ranks int, seconds float64) *inspection.Report {
	r := &inspection.Report{
		Job: "7-ab", Command: []string{"gorun", "./prog"}, Host: "h", Started: at(0), Now: at(seconds), Ranks: ranks, Joined: ranks,
	}
	for rank := range ranks {
		d := bootstrap.Doing{Rank: rank, Size: ranks, Line: "a.go:1", Function: "main.f"}
		if rank%2 == 0 && ranks > 1 {
			d.Waits = []bootstrap.Wait{{Op: "receive", What: "tag 7", Among: fmt.Sprint((rank + 1) % ranks), Line: "b.go:2"}}
		}
		r.Doing = append(r.Doing, d)
		r.Counts = append(r.Counts, inspection.Counts{Rank: rank, Time: at(seconds), Counts: flight.Counts{
			Messages: uint64(seconds) * uint64(rank), Bytes: uint64(seconds) * uint64(10*rank),
			Waited: time.Duration(seconds * float64(rank*7%100) / 100 * float64(time.Second)), Unexpected: uint64(rank % 3),
		}})
	}
	return r
}

// asked records the requests to a source. The source answers each request with an error.
type asked []int

func (a *asked) source(rank int) (*inspection.Report, error) {
	*a = append(*a, rank)
	return nil, errors.New("no answer")
}

// terminal is a table on a simulated terminal.
type terminal struct {
	t     *testing.T
	model tea.Model
	then  tea.Cmd // the command that the table returned for the last message
	asked asked
	size  tea.WindowSizeMsg // zero if the table does not know it yet
}

// newTerminal shows a report on a terminal.
func newTerminal(t *testing.T, r *inspection.Report, width, height int) *terminal {
	t.Helper()
	s := &terminal{t: t}
	s.model = viewer.New(r, s.asked.source, 0)
	s.then = s.model.Init()
	s.send(tea.WindowSizeMsg{Width: width, Height: height})
	return s
}

// send passes a message to the table, and checks that the view fits into the terminal afterwards.
func (s *terminal) send(message tea.Msg) *terminal {
	s.t.Helper()
	s.model, s.then = s.model.Update(message)
	if size, resized := message.(tea.WindowSizeMsg); resized {
		s.size = size
	}
	if s.size.Width > 0 {
		lines := strings.Split(s.model.View().Content, "\n")
		require.LessOrEqual(s.t, len(lines), s.size.Height)
		for _, line := range lines {
			require.LessOrEqual(s.t, lipgloss.Width(line), s.size.Width, line)
		}
	}
	return s
}

// report passes a report to the table.
func (s *terminal) report(r *inspection.Report) *terminal {
	s.t.Helper()
	return s.send(viewer.Reported{Rank: -1, Report: r})
}

// keys has the keys that have names.
var keys = map[string]tea.Key{
	"up": {Code: tea.KeyUp}, "down": {Code: tea.KeyDown}, "left": {Code: tea.KeyLeft}, "right": {Code: tea.KeyRight},
	"pgup": {Code: tea.KeyPgUp}, "pgdown": {Code: tea.KeyPgDown}, "home": {Code: tea.KeyHome}, "end": {Code: tea.KeyEnd},
	"enter": {Code: tea.KeyEnter}, "esc": {Code: tea.KeyEscape},
	"ctrl+c": {Code: 'c', Mod: tea.ModCtrl}, `ctrl+\`: {Code: '\\', Mod: tea.ModCtrl},
}

// press presses the named keys, which blanks separate.
func (s *terminal) press(names string) *terminal {
	s.t.Helper()
	for name := range strings.FieldsSeq(names) {
		k, named := keys[name]
		if !named {
			k = tea.Key{Code: rune(name[0]), Text: name}
		}
		s.send(tea.KeyPressMsg(k))
	}
	return s
}

// style matches the control sequences that set colors and styles. A view may contain no other control
// sequences.
var style = regexp.MustCompile(`\x1b\[[0-9;]*m`)

// lines returns the lines of the view without styles and trailing blanks. The selected line begins
// with a >.
func (s *terminal) lines() []string {
	s.t.Helper()
	lines := strings.Split(s.model.View().Content, "\n")
	for i, line := range lines {
		mark := ""
		if strings.Contains(line, "\x1b[7m") {
			mark = ">"
		}
		lines[i] = mark + strings.TrimRight(style.ReplaceAllString(line, ""), " ")
		require.NotContains(s.t, lines[i], "\x1b")
	}
	return lines
}

// ranks returns the ranks in the lines of the table. The selected rank has a >.
func (s *terminal) ranks() string {
	s.t.Helper()
	var ranks []string
	for _, line := range s.lines() {
		if f := strings.Fields(line); len(f) > 1 && regexp.MustCompile(`^(>? +\d+  [a-z]+)`).MatchString(line) {
			if f[0] == ">" {
				f[0] += f[1]
			}
			ranks = append(ranks, f[0])
		}
	}
	return strings.Join(ranks, " ")
}

func (s *terminal) require(want string) {
	s.t.Helper()
	require.Equal(s.t, strings.TrimPrefix(want, "\n"), strings.Join(s.lines(), "\n"))
}

// last returns the text that remains on the terminal after the view has ended.
func (s *terminal) last() string {
	s.t.Helper()
	return s.model.(viewer.Model).Last()
}
