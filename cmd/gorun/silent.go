package main

import (
	"slices"
	"strings"

	"github.com/gorun-hpc/gorun/bootstrap"
	"github.com/gorun-hpc/gorun/cmd/gorun/internal/inspection"
)

// silent returns the ranks that were asked for a report and have not answered. list has the reports.
func (j *job) silent(list []bootstrap.Doing) (ranks []int) {
	for rank := range j.ranks {
		asked := j.ranks[rank].asked == j.watch.question // false if the rank joined after the question
		if j.server.State(rank) == bootstrap.RankJoined && asked && !slices.ContainsFunc(list, func(d bootstrap.Doing) bool { return d.Rank == rank }) {
			ranks = append(ranks, rank)
		}
	}
	return ranks
}

// tellSilent prints which ranks have not answered and, of ranks on this machine, in which state their processes
// are.
func (j *job) tellSilent(ranks []int) {
	word := "rank "
	if len(ranks) > 1 {
		word = "ranks "
	}
	var halted []string
	for _, rank := range ranks[:min(len(ranks), recordedMost)] {
		if r := j.ranks[rank]; r.record != nil && r.running() { // the rank is on this machine
			if state := haltOf(r.pid); state != "" {
				halted = append(halted, inspection.Halted{Rank: rank, PID: r.pid, Host: r.host, State: state}.String())
			}
		}
	}
	why := "stopped, or in code that Go cannot interrupt (gorun inspect shows the states of processes)"
	if len(halted) > 0 {
		why = strings.Join(halted, "; ")
	}
	complain("%s%s did not answer: %s", word, bootstrap.FormatRanks(ranks), why)
}
