package inspection

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gorun-hpc/gorun/bootstrap"
	"github.com/gorun-hpc/gorun/internal/flight"
)

// Report is what a job is doing. Its JSON is that of gorun inspect -json.
type Report struct {
	Job     string    `json:"job"`
	Command []string  `json:"command"`
	Host    string    `json:"host"`
	Started time.Time `json:"started"`
	// Now is when the report was made.
	Now time.Time `json:"now"`
	// Ranks is how many the job has, Joined how many of them have begun, Ended how many have
	// ended.
	Ranks  int `json:"ranks"`
	Joined int `json:"joined"`
	Ended  int `json:"ended"`
	// Doing are the reports of those that have answered; Silent are those that have not, as in
	// a debugger.
	Doing  []bootstrap.Doing `json:"doing"`
	Silent []int             `json:"silent,omitempty"`
	// Halted are the silent ranks whose processes do not run.
	Halted []Halted `json:"halted,omitempty"`
	// Recorded are the last operations of silent ranks.
	Recorded []Recorded `json:"recorded,omitempty"`
	// Counts are the counters of ranks. Those of a host that does not answer are left out.
	Counts []Counts `json:"counts,omitempty"`
	// Log is that of the rank that was asked for; nil if none was, or if it has none any more.
	Log *Log `json:"log,omitempty"`
}

// Log are all operations that a rank has recorded.
type Log struct {
	Rank int `json:"rank"`
	flight.Log
}

// Counts are what a rank has sent and received until Time, by its own clock.
type Counts struct {
	Rank int       `json:"rank"`
	Time time.Time `json:"time"`
	flight.Counts
}

// Recorded are the last operations of a rank in lines, the oldest first.
type Recorded struct {
	Rank  int      `json:"rank"`
	Lines []string `json:"lines"`
}

// linesMax bounds the text of a report, whatever the number of ranks.
const linesMax = 40

// Text is the report in at most 40 lines: the job, one sentence that says which ranks wait for which, which
// collective operations ranks have reached where these are not the same, and the ranks by what they do.
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

// head are the first lines: the job, the sentence, and the ranks that do not answer.
func (r *Report) head() []string {
	lines := r.Facts()
	if s := r.Sentence(); s != "" {
		lines = slices.Insert(lines, 2, s)
	}
	return lines
}

// Facts are the job, how many ranks it has, and those that do not answer if there are any, in a line each.
func (r *Report) Facts() []string {
	lines := []string{
		fmt.Sprintf("job %s on %s for %v: %s", r.Job, r.Host, r.Now.Sub(r.Started).Round(time.Second), strings.Join(r.Command, " ")),
		fmt.Sprintf("%d ranks, %d of them joined, %d ended", r.Ranks, r.Joined, r.Ended),
	}
	if len(r.Silent) > 0 {
		who := "rank "
		if len(r.Silent) > 1 {
			who = "ranks "
		}
		lines = append(lines, "no answer from "+who+bootstrap.FormatRanks(r.Silent))
	}
	return lines
}

// Sentence says which ranks wait for which, and which of the others do not run; "" if no rank has answered.
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
