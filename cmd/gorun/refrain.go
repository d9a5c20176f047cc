package main

import (
	"fmt"
	"slices"

	"github.com/gorun-hpc/gorun/bootstrap"
)

// failing records the error that a rank reports before it ends, and adds it to the output.
func (j *job) failing(r *rank, e bootstrap.Event) {
	if r.said != nil {
		return // the first error counts
	}
	r.said = &e
	j.out.addFailure(r.number, fmt.Sprintf("rank %d: %s\n", r.number, e.Text), j.said.add(r.number, e.Text))
}

// failure returns the failure that the verdict records for the end of a rank. If the rank's error comes
// from another rank (Event.Origin), failure returns the failure of that other rank.
func (j *job) failure(r *rank, code int) failure {
	f := failure{rank: r.number, code: code, how: r.how(), ended: []*rank{r}}
	e := r.said
	// The rank e.Lost is the cause only if no other process has taken its place since the generation of the event.
	if e != nil && e.Lost >= 0 && j.ranks[e.Lost].in(e.Generation) == nil {
		f.cause = j.ranks[e.Lost]
	}
	if e != nil && e.Origin != r.number {
		f.rank, f.of = e.Origin, j.ranks[e.Origin].in(e.Generation)
		f.how = fmt.Sprintf("made rank %d fail: %s", r.number, e.Text)
		return f
	}
	of := r.incarnation()
	f.of = &of
	return f
}

// refrains records which ranks end with the same error.
type refrains struct {
	texts []string // in the order of their first occurrence
	ranks map[string][]int
}

// add records the error of a rank and reports whether another rank had the same error before.
func (s *refrains) add(rank int, text string) bool {
	before := s.ranks[text]
	if before == nil {
		if s.ranks == nil {
			s.ranks = make(map[string][]int)
		}
		s.texts = append(s.texts, text)
	}
	s.ranks[text] = append(before, rank)
	return before != nil
}

// counts returns a line for each error with which more than one rank ended.
func (s *refrains) counts() []string {
	var lines []string
	for _, text := range s.texts {
		first, others := s.ranks[text][0], slices.Clone(s.ranks[text][1:])
		slices.Sort(others)
		switch len(others) {
		case 0:
		case 1:
			lines = append(lines, fmt.Sprintf("1 more rank, %d, failed with the error of rank %d", others[0], first))
		default:
			lines = append(lines, fmt.Sprintf("%d more ranks, %s, failed with the error of rank %d", len(others), bootstrap.FormatRanks(others), first))
		}
	}
	return lines
}
