package inspection_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/bootstrap"
	"github.com/gorun-hpc/gorun/cmd/gorun/internal/inspection"
	"github.com/gorun-hpc/gorun/internal/flight"
)

// at returns the time that is the given number of seconds after the start of the job.
func at(seconds float64) time.Time {
	return time.Unix(0, 0).Add(time.Duration(seconds * float64(time.Second)))
}

// counted returns the counters of a rank.
func counted(rank int, seconds float64, messages, bytes uint64, waited time.Duration, unexpected uint64) inspection.Counts {
	return inspection.Counts{Rank: rank, Time: at(seconds), Counts: flight.Counts{Messages: messages, Bytes: bytes, Waited: waited, Unexpected: unexpected}}
}

// pair returns two successive reports. Rank 0 waits, rank 1 runs, rank 2 does not answer, rank 3 has finished
// and has no counters, and rank 4 was started again between the two reports.
func pair() (before, now *inspection.Report) {
	before = &inspection.Report{
		Job: "7-ab", Command: []string{"gorun", "-np", "5", "./prog"}, Host: "h", Started: at(0), Now: at(10), Ranks: 5,
		Counts: []inspection.Counts{
			counted(0, 9.75, 1000, 1e6, 2*time.Second, 0), counted(1, 10, 5, 100, 0, 0),
			counted(2, 3, 7, 7, 0, 64), counted(4, 9, 100, 100, 0, 0),
		},
	}
	now = &inspection.Report{
		Job: "7-ab", Command: []string{"gorun", "-np", "5", "./prog"}, Host: "h", Started: at(0), Now: at(12), Ranks: 5, Joined: 5,
		Silent: []int{2},
		Doing: []bootstrap.Doing{
			{Rank: 4, Size: 5},
			{Rank: 0, Size: 5, Waits: []bootstrap.Wait{
				{Op: "receive", What: "rank 1, tag 7", Among: "1", Seconds: 2, Line: "a.go:3", Function: "main.f"}, {Op: "probe"},
			}},
			{Rank: 1, Size: 5, Quiet: 2, Line: "b.go:4", Function: "main.g"},
			{Rank: 3, Size: 5, Finished: true},
		},
		Counts: []inspection.Counts{
			counted(0, 11.75, 25_691_000, 3_001e6, 3500*time.Millisecond, 0), counted(1, 12.25, 6, 108, time.Millisecond, 1_999_999),
			counted(2, 3, 7, 7, 0, 64), counted(4, 12, 10, 10, 0, 0),
		},
	}
	return before, now
}

// Report.Table shows the state of each rank, and its rates since the previous report if there is
// one.
func TestTable(t *testing.T) {
	before, now := pair()
	const head = `job 7-ab on h for 12s: gorun -np 5 ./prog
5 ranks, 5 of them joined, 0 ended
rank 0 waits at a.go:3 for rank 1; rank 1 has not called gorun for 2s and is at b.go:4 (main.g): look there
no answer from rank 2
`
	require.Equal(t, head+
		`  rank  state     messages/s  bytes/s waiting % unexpected  where
     0  waiting        12.8M    1.50G        75          0  receive, rank 1, tag 7, at a.go:3 (main.f), and 1 more
     1  computing        0.5        4         0      2.00M  at b.go:4 (main.g)
     2  silent             0        0         -         64
     3  finished           -        -         -          -
     4  computing          -        -         -          0
`, now.Table(before))
	require.Equal(t, head+
		`  rank  state     messages/s  bytes/s waiting % unexpected  where
     0  waiting            -        -         -          0  receive, rank 1, tag 7, at a.go:3 (main.f), and 1 more
     1  computing          -        -         -      2.00M  at b.go:4 (main.g)
     2  silent             -        -         -         64
     3  finished           -        -         -          -
     4  computing          -        -         -          0
`, now.Table(nil))
}

// The table is complete for a job in which no rank has joined yet, and for a job of a single rank.
func TestTableOfFewRanks(t *testing.T) {
	r := inspection.Report{Job: "a", Host: "h", Command: []string{"gorun", "./p"}, Started: at(0), Now: at(1), Ranks: 1}
	const head = "job a on h for 1s: gorun ./p\n1 ranks, %d of them joined, 0 ended\n"
	const title = "  rank  state     messages/s  bytes/s waiting % unexpected  where\n"
	require.Equal(t, fmt.Sprintf(head, 0)+title, r.Table(nil))
	before := r
	before.Now, before.Counts = at(0), []inspection.Counts{counted(0, 0, 0, 0, 0, 0)}
	r.Joined, r.Doing = 1, []bootstrap.Doing{{Size: 1, Line: "a.go:1"}}
	r.Counts = []inspection.Counts{counted(0, 1, 999, 999_600, 2*time.Second, 99)}
	require.Equal(t, fmt.Sprintf(head, 1)+"no rank waits: rank 0 runs\n"+title+
		"     0  computing        999    1.00M       100         99  at a.go:1\n", r.Table(&before))
}

// Between reports of different generations of the job there are no rates, even if each counter has increased.
func TestNoRatesBetweenGenerations(t *testing.T) {
	before, now := pair()
	now.Generation = 1
	require.Equal(t, now.Table(nil), now.Table(before))
	before.Generation = 1
	require.NotEqual(t, now.Table(nil), now.Table(before))
}

// Of 40 ranks, the table shows the 30 ranks that wait most, in the order of their numbers.
func TestTableOfManyRanks(t *testing.T) {
	before := inspection.Report{Now: at(0)}
	now := inspection.Report{Now: at(1), Ranks: 40, Joined: 40}
	for rank := range 40 {
		before.Counts = append(before.Counts, counted(rank, 0, 0, 0, 0, 0))
		waited := time.Duration(rank*7%40) * 10 * time.Millisecond
		now.Counts = append(now.Counts, counted(rank, 1, 1, 1, waited, 0))
		now.Doing = append(now.Doing, bootstrap.Doing{Rank: rank, Size: 40, Waits: []bootstrap.Wait{{Op: "receive"}}})
	}
	lines := strings.Split(strings.TrimSuffix(now.Table(&before), "\n"), "\n")
	var want, got []string
	for rank := range 40 {
		if rank*7%40 >= 10 {
			want = append(want, fmt.Sprint(rank))
		}
	}
	for _, line := range lines {
		if f := strings.Fields(line); len(f) > 1 && f[1] == inspection.Waiting {
			got = append(got, f[0])
		}
	}
	require.Equal(t, want, got)
	require.Equal(t, "and 10 more", lines[len(lines)-1])
}

// A rank that does not answer has the state of its process. A rank that answers has the state that it
// reports.
func TestStates(t *testing.T) {
	r := inspection.Report{
		Doing:  []bootstrap.Doing{{Rank: 1}, {Rank: 3, Finished: true, Waits: []bootstrap.Wait{{Op: "barrier"}}}, {Rank: 5, Finished: true}},
		Silent: []int{0, 2, 4, 6},
		Halted: []inspection.Halted{{Rank: 6, State: "T"}, {Rank: 2, State: "t"}, {Rank: 4, State: "D"}, {Rank: 1, State: "T"}},
	}
	var got []string
	for _, w := range r.Rows(nil) {
		require.Equal(t, len(got), w.Rank)
		got = append(got, w.State)
	}
	require.Equal(t, []string{"silent", "computing", "debugged", "waiting", "kernel", "finished", "stopped"}, got)
}
