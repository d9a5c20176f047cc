package main

import (
	"strings"

	"github.com/gorun-hpc/gorun/bootstrap"
	"github.com/gorun-hpc/gorun/cmd/gorun/internal/inspection"
)

// silent returns the ranks that were asked for a report and have not answered.
func (j *job) silent() (ranks []int) {
	for rank, r := range j.ranks {
		asked := r.asked == j.watch.question // false if the rank joined after the question
		if j.server.State(rank) == bootstrap.RankJoined && asked && r.answered != j.watch.question {
			ranks = append(ranks, rank)
		}
	}
	return ranks
}

// tellSilent prints which ranks have not answered, and which of their processes on this machine cannot run (see
// haltOf).
func (j *job) tellSilent(ranks []int) {
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
	complain("%s did not answer: %s", bootstrap.NameRanks(ranks), why)
}
