package bootstrap

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// culpritsMax bounds the parts of a Summary.
const culpritsMax = 4

// Summary is one sentence about the reports of the ranks: at which line each group of ranks
// waits and for which ranks, and the line at which an awaited rank runs if it waits for
// nothing itself. It is "" without reports.
func Summary(list []Doing) string {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b Doing) int { return a.Rank - b.Rank })
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
			if i == 0 || also.Line == "" { // a goroutine that the program's operation has started
				addAmong(among[w.Line], also.Among)
			}
		}
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

// addAmong sets the ranks of a text of Wait.Among; a wait for unknown ranks names none.
func addAmong(among []bool, text string) {
	list, _ := rankRanges(text, len(among))
	for _, r := range list {
		for rank := r.Low; rank <= r.High; rank++ {
			among[rank] = true
		}
	}
}

// waitOf says that ranks wait at a line for some of those that are set in among.
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

// culprits say what the ranks do that are awaited and do not wait.
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
			quiet := time.Duration(d.Quiet * float64(time.Second)).Round(100 * time.Millisecond)
			parts = append(parts, fmt.Sprintf("rank %d has not called gorun for %v and is at %s (%s): look there", d.Rank, quiet, d.Line, d.Function))
		default:
			parts = append(parts, fmt.Sprintf("rank %d waits for no message", d.Rank))
		}
	}
	return parts
}
