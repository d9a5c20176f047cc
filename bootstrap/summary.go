package bootstrap

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// culpritsMax is the largest number of groups of waiting ranks that a Summary describes. It is also the
// largest number of awaited ranks that a Summary describes.
const culpritsMax = 4

// Summary returns one sentence about the reports of the ranks. The sentence has the line at which each group
// of ranks waits, and the ranks that the group waits for. If an awaited rank does not wait itself, the
// sentence also says what this rank does. Summary returns "" if there are no reports.
func Summary(list []Doing) string {
	list = inOrder(list)
	if len(list) == 0 {
		return ""
	}
	size := 0
	for _, d := range list {
		size = max(size, d.Size, d.Rank+1)
	}
	groups := newByText()
	among := map[string][]bool{}
	for _, d := range list {
		if len(d.Waits) == 0 {
			continue
		}
		w := d.Waits[0]
		groups.add(w.Line, d.Rank)
		if among[w.Line] == nil {
			among[w.Line] = make([]bool, size)
		}
		for i, also := range d.Waits {
			if i == 0 || also.Line == "" { // a wait without a line is a wait of gorun itself
				addAmong(among[w.Line], also.Among)
			}
		}
	}
	if len(groups.order) == 0 {
		return nobodyWaits(list)
	}
	var parts []string
	awaited := make([]bool, size)
	for _, line := range groups.order {
		ranks := groups.ranks[line]
		parts = append(parts, waitOf(ranks, line, among[line]))
		for rank, is := range among[line] {
			awaited[rank] = awaited[rank] || is
		}
	}
	if more := len(parts) - culpritsMax; more > 0 {
		parts = append(parts[:culpritsMax], fmt.Sprintf("%d more groups wait elsewhere", more))
	}
	return strings.Join(append(parts, culprits(list, awaited)...), "; ")
}

// addAmong sets the elements of the slice among for the ranks in text. text is a Wait.Among, and is "" if these ranks
// are not known.
func addAmong(among []bool, text string) {
	list, _ := rankRanges(text, len(among))
	for _, r := range list {
		for rank := r.Low; rank <= r.High; rank++ {
			among[rank] = true
		}
	}
}

// waitOf returns a text which says that ranks wait at a line for the ranks whose element of the slice among is true.
func waitOf(ranks []int, line string, among []bool) string {
	said := verb(ranks, "waits", "wait")
	if line != "" {
		said += " at " + line
	}
	some := slices.Contains(among, true)
	var others []int
	for rank, is := range among {
		if is && !slices.Contains(ranks, rank) {
			others = append(others, rank)
		}
	}
	switch {
	case len(others) > 0:
		return said + " for " + verb(others, "", "")
	case some && len(ranks) > 1:
		return said + " for each other"
	case some:
		return said + " for itself"
	default:
		return said
	}
}

// culprits returns a text for each awaited rank that does not wait itself, but at most culpritsMax texts. The text
// says what the rank does.
func culprits(list []Doing, awaited []bool) []string {
	var parts []string
	for _, d := range list {
		if len(parts) == culpritsMax {
			break
		}
		switch {
		case !awaited[d.Rank] || len(d.Waits) > 0:
		case d.Finished:
			parts = append(parts, fmt.Sprintf("rank %d has left its program", d.Rank))
		case d.Line != "":
			parts = append(parts, runs(d))
		default:
			parts = append(parts, fmt.Sprintf("rank %d waits for no message", d.Rank))
		}
	}
	return parts
}

// suspicious is a time. If a rank does not call gorun for that long, the line that it executes may be the
// cause of a hang. Most programs compute for less time between two calls.
const suspicious = 2 * time.Second

// quiet returns the field Quiet as a duration, rounded for printing.
func (d Doing) quiet() time.Duration {
	return time.Duration(d.Quiet * float64(time.Second)).Round(100 * time.Millisecond)
}

// runs returns the text for a rank that waits for nothing. The text names the line that the rank executes.
func runs(d Doing) string {
	quiet := d.quiet()
	if quiet < suspicious {
		return fmt.Sprintf("rank %d runs, at %s (%s)", d.Rank, d.Line, d.Function)
	}
	return fmt.Sprintf("rank %d has not called gorun for %v and is at %s (%s): look there", d.Rank, quiet, d.Line, d.Function)
}

// nobodyWaits returns the Summary if no rank waits.
func nobodyWaits(list []Doing) string {
	var running, finished []int
	longest := list[0]
	for _, d := range list {
		if d.Finished {
			finished = append(finished, d.Rank)
			continue
		}
		running = append(running, d.Rank)
		if longest.Finished || d.Quiet > longest.Quiet {
			longest = d
		}
	}
	if len(running) == 0 {
		return verb(finished, "has left its program", "have left their programs")
	}
	text := "no rank waits: " + verb(running, "runs", "run")
	if quiet := longest.quiet(); quiet >= suspicious && longest.Line != "" {
		text += fmt.Sprintf("; rank %d has not called gorun for %v and is at %s (%s)", longest.Rank, quiet, longest.Line, longest.Function)
	}
	if len(finished) > 0 {
		text += "; " + verb(finished, "has left its program", "have left their programs")
	}
	return text
}
