package inspection

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gorun-hpc/gorun/bootstrap"
	"github.com/gorun-hpc/gorun/internal/flight"
)

// Report is the state of a job at one time. gorun inspect -json prints its JSON.
type Report struct {
	Job     string    `json:"job"`
	Command []string  `json:"command"`
	Host    string    `json:"host"`
	Started time.Time `json:"started"`
	// Now is the time at which the report was made.
	Now time.Time `json:"now"`
	// Ranks is the number of ranks of the job. Joined is the number of ranks that have joined the job and neither
	// left it nor ended. Ended is the number of ranks that have left the job or ended.
	Ranks  int `json:"ranks"`
	Joined int `json:"joined"`
	Ended  int `json:"ended"`
	// Generation is the number of the job's generation, counted from 0. A new one begins when lost ranks are
	// started again, or when they begin to wait for a pod.
	Generation int `json:"generation"`
	// Doing contains the reports of the ranks that have answered. Silent lists the ranks that have not
	// answered, for example because a debugger has stopped them.
	Doing  []bootstrap.Doing `json:"doing"`
	Silent []int             `json:"silent,omitempty"`
	// Halted contains those of the first 64 silent ranks whose processes do not run.
	Halted []Halted `json:"halted,omitempty"`
	// Recorded contains the last operations of the first 64 silent ranks.
	Recorded []Recorded `json:"recorded,omitempty"`
	// Counts contains the counters of joined ranks, without the ranks of a host that does not answer.
	Counts []Counts `json:"counts,omitempty"`
	// Log is the log of the rank that the client has requested. It is nil if none was requested, or if
	// the rank's record is no longer available.
	Log *Log `json:"log,omitempty"`
}

// Log contains all operations that are in the flight recorder of a rank.
type Log struct {
	Rank int `json:"rank"`
	flight.Log
}

// Counts are the counters of a rank at Time. Time is from the clock of the rank's host.
type Counts struct {
	Rank int       `json:"rank"`
	Time time.Time `json:"time"`
	flight.Counts
}

// Recorded contains the last operations of a rank, one line each. Operations on messages come first, and then
// operations of libraries. Within each of these two groups, the oldest operation comes first.
type Recorded struct {
	Rank  int      `json:"rank"`
	Lines []string `json:"lines"`
}

// linesMax bounds the lines of the text of a report, for any number of ranks.
const linesMax = 40

// Text returns the report in at most 40 lines. The text begins with the results of Facts and Sentence. If the
// ranks have reached different collective operations, these follow. Then come the last operations of silent
// ranks, and the ranks, grouped by their activity.
func (r *Report) Text() string {
	var b strings.Builder
	b.WriteString(strings.Join(append(r.head(), bootstrap.Reached(r.Doing)...), "\n") + "\n")
	for _, rank := range r.Recorded {
		fmt.Fprintf(&b, "last operations of rank %d:\n  %s\n", rank.Rank, strings.Join(rank.Lines, "\n  "))
	}
	b.WriteString(bootstrap.Together(r.Doing))
	lines := strings.Split(strings.TrimRight(b.String(), "\n"), "\n")
	if len(lines) > linesMax {
		left := len(lines) - linesMax + 1
		lines = append(lines[:linesMax-1], fmt.Sprintf("... and %d more lines (-json has all)", left))
	}
	return strings.Join(lines, "\n") + "\n"
}

// head returns the first lines of the text: the Facts, with the Sentence as the third line.
func (r *Report) head() []string {
	lines := r.Facts()
	if s := r.Sentence(); s != "" {
		lines = slices.Insert(lines, 2, s)
	}
	return lines
}

// Facts returns two or three lines. The first describes the job, and the second contains the numbers of
// its ranks. If ranks do not answer, the third names them.
func (r *Report) Facts() []string {
	lines := []string{
		fmt.Sprintf("job %s on %s for %v: %s", r.Job, r.Host, r.Now.Sub(r.Started).Round(time.Second), strings.Join(r.Command, " ")),
		fmt.Sprintf("%d ranks, %d of them joined, %d ended", r.Ranks, r.Joined, r.Ended),
	}
	if len(r.Silent) > 0 {
		lines = append(lines, "no answer from "+bootstrap.NameRanks(r.Silent))
	}
	return lines
}

// Sentence returns a sentence that names the ranks that wait, the ranks for which they wait, and the
// halted ranks. It is "" if there is nothing to say about any rank.
func (r *Report) Sentence() string {
	var parts []string
	if s := bootstrap.Summary(r.Doing); s != "" {
		parts = append(parts, s)
	}
	for i, h := range r.Halted {
		if i == haltedMost {
			parts = append(parts, fmt.Sprintf("and %d more ranks do not run", len(r.Halted)-i))
			break
		}
		parts = append(parts, h.String())
	}
	return strings.Join(parts, "; ")
}
