package viewer_test

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/cmd/gorun/internal/inspection"
	"github.com/gorun-hpc/gorun/cmd/gorun/internal/viewer"
	"github.com/gorun-hpc/gorun/internal/flight"
)

// follow runs the command that the table has returned for the last message, and sends the result to
// the table.
func (s *terminal) follow() *terminal {
	s.t.Helper()
	require.NotNil(s.t, s.then)
	return s.send(s.then())
}

// over reports whether the table has ended the program.
func (s *terminal) over() bool {
	s.t.Helper()
	if s.then == nil {
		return false
	}
	_, quit := s.then().(tea.QuitMsg)
	return quit
}

// withLog returns a report with operations of one rank, whose tags ascend from 0.
func withLog(seconds float64, rank, operations int) viewer.Reported {
	r := report(6, seconds)
	r.Log = &inspection.Log{Rank: rank, Log: flight.Log{Time: at(seconds)}}
	for i := range operations {
		r.Log.Messages = append(r.Log.Messages, flight.Operation{
			Op: "send", Message: true, Peer: 1, Tag: i, Bytes: 8, State: flight.Done, Changed: at(0), Site: "a.go\x1b:1\n(" + strings.Repeat("f", 40) + ")",
		})
	}
	return viewer.Reported{Rank: rank, Report: r}
}

// Enter shows the operations of the selected rank with the newest last. The list follows new operations until
// the user scrolls. After that, it stays at the lines that are shown.
func TestOperations(t *testing.T) {
	s := newTerminal(t, report(6, 1), 80, 9).press("down enter")
	s.follow() // the source answers with an error
	require.Equal(t, asked{1}, s.asked)
	s = newTerminal(t, report(6, 1), 80, 9).press("down enter")
	s.require(`
ranks 0,2,4 wait at b.go:2 for ranks 1,3,5; rank 1 runs, at a.go:1 (main.f);
rank 3 runs, at a.go:1 (main.f); rank 5 runs, at a.go:1 (main.f)
job 7-ab on h for 1s: gorun ./prog
6 ranks, 6 of them joined, 0 ended
rank 1 is asked for its last operations



q quit | esc back | arrows move`)
	s.send(withLog(2, 1, 4)).require(`
ranks 0,2,4 wait at b.go:2 for ranks 1,3,5; rank 1 runs, at a.go:1 (main.f);
rank 3 runs, at a.go:1 (main.f); rank 5 runs, at a.go:1 (main.f)
job 7-ab on h for 2s: gorun ./prog
rank 1: 4 operations, the newest last
       ago  state     peer         tag      bytes      comm  operation
        2s  done      1              1          8     world  send
        2s  done      1              2          8     world  send
        2s  done      1              3          8     world  send
q quit | esc back | arrows move                                         2-4 of 4`)
	tags := func() (tags []string) {
		for _, line := range s.lines()[5:8] {
			tags = append(tags, strings.Fields(line)[3])
		}
		return tags
	}
	s.send(withLog(3, 1, 6))
	require.Equal(t, []string{"3", "4", "5"}, tags(), "the newest ones")
	s.press("up")
	require.Equal(t, []string{"2", "3", "4"}, tags())
	s.send(withLog(4, 1, 7)).send(withLog(4, 2, 1))
	require.Equal(t, []string{"2", "3", "4"}, tags(), "those that are looked at")
	s.press("home")
	require.Equal(t, []string{"0", "1", "2"}, tags())
	s.press("pgdown")
	require.Equal(t, []string{"3", "4", "5"}, tags())
	s.press("end")
	require.Equal(t, []string{"4", "5", "6"}, tags())
	for range 20 {
		s.press("right")
	}
	require.True(t, strings.HasSuffix(s.lines()[4], "operation            at"), s.lines()[4])
	require.True(t, strings.HasSuffix(s.lines()[5], `a.go\x1b:1 (`+strings.Repeat("f", 40)+")"), s.lines()[5])
	s.send(viewer.Reported{Rank: 1, Report: report(6, 5)})
	require.Equal(t, "nothing is recorded of rank 1: it has ended, or its host does not answer", s.lines()[4])
	require.Contains(t, s.last(), "     0  waiting", "the table stays")
	s.press("esc")
	require.Equal(t, "0 >1 2 3", s.ranks())
	require.False(t, s.over())
	s.press("enter").send(withLog(6, 1, 3)).press("esc up enter")
	require.Equal(t, "rank 0 is asked for its last operations", s.lines()[4])
}

// When an answer has arrived and the period between requests is over, the table sends the next request. If a
// key needs other data, the table sends a request at once. If the table still waits for an answer, it sends
// that request after the answer.
func TestRequests(t *testing.T) {
	s := newTerminal(t, report(3, 1), 80, 24)
	first := s.model.Init()()
	message := first
	for n := range 3 {
		s.send(message) // the period is over
		require.IsType(t, viewer.Reported{}, s.then())
		require.Len(t, s.asked, n+1)
		message = s.report(report(3, float64(n+2))).then()
	}
	s.press("enter")
	require.IsType(t, viewer.Reported{}, s.then())
	require.Nil(t, s.send(message).then, "the table has sent a newer request since")
	require.Nil(t, s.press("esc").then)
	require.Nil(t, s.press("down enter").then)
	s.send(withLog(5, 0, 1))
	require.IsType(t, viewer.Reported{}, s.then())
	require.Contains(t, s.lines()[4], "rank 1 is asked")
	s.send(withLog(6, 1, 1))
	require.Nil(t, s.send(first).then, "the table has sent newer requests since")
	require.Nil(t, s.send(message).then, "the table has sent newer requests since")
	require.Equal(t, asked{-1, -1, -1, 0, 1}, s.asked)
}

// The table ignores a report that follows the previous report too soon for meaningful rates, and a report of a job
// whose ranks have all ended.
func TestReportsThatDoNotCount(t *testing.T) {
	s := &terminal{t: t}
	s.model = viewer.New(report(3, 1), s.asked.source, time.Second)
	s.report(report(3, 2))
	before := s.lines()
	s.report(report(3, 2.25))
	require.Equal(t, before, s.lines())
	ended := report(3, 3)
	ended.Ended, ended.Doing = 3, nil
	s.report(ended)
	require.Equal(t, before, s.lines())
	s.report(report(3, 3.25))
	require.NotEqual(t, before, s.lines())
}

// The view ends when the job ends, when its source returns an error, at a signal, and at the keys that end
// it.
func TestEnd(t *testing.T) {
	failure := errors.New("gorun is stopped")
	ended := viewer.Reported{Rank: -1, Err: fmt.Errorf("%w: it has ended", inspection.ErrNoJob)}
	for name, c := range map[string]struct {
		keys    string
		message tea.Msg
		signal  syscall.Signal
		err     error
	}{
		"job":          {message: ended},
		"error":        {message: viewer.Reported{Rank: -1, Err: failure}, err: failure},
		"signal":       {message: viewer.Interrupted{Signal: syscall.SIGTERM}, signal: syscall.SIGTERM},
		"q":            {keys: "q"},
		"esc":          {keys: "esc"},
		"ctrl+c":       {keys: "ctrl+c", signal: syscall.SIGINT},
		"ctrl+\\":      {keys: "ctrl+\\", signal: syscall.SIGQUIT},
		"q later":      {keys: "enter q"},
		"esc esc":      {keys: "enter esc esc"},
		"ctrl+c later": {keys: "enter ctrl+c", signal: syscall.SIGINT},
	} {
		s := newTerminal(t, report(3, 1), 80, 24).report(report(3, 2))
		require.False(t, s.over(), name)
		s.press(c.keys)
		if c.message != nil {
			s.send(c.message)
		}
		require.True(t, s.over(), name)
		end := s.model.(viewer.Model)
		require.Equal(t, c.signal, end.Signal(), name)
		require.Equal(t, c.err, end.Err(), name)
	}
}

// The text that remains after the view has the lines that were shown and the whole summary, but no
// keys.
func TestLast(t *testing.T) {
	s := newTerminal(t, report(9, 1), 60, 7).report(report(9, 2)).press("w down")
	require.Equal(t, `ranks 0,2,4,6,8 wait at b.go:2 for ranks 1,3,5,7; rank 1
runs, at a.go:1 (main.f); rank 3 runs, at a.go:1 (main.f);
rank 5 runs, at a.go:1 (main.f); rank 7 runs, at a.go:1
(main.f)
job 7-ab on h for 2s: gorun ./prog
9 ranks, 9 of them joined, 0 ended
  rank  state     messages/s  bytes/s waiting % unexpected
     8  waiting            8       80        56          2
     7  computing          7       70        49          1
     6  waiting            6       60        42          0
and 6 more, sorted by waiting %
`, s.last())
	require.NotContains(t, newTerminal(t, report(9, 1), 60, 30).last(), "more")
}
