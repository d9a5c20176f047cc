package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/gorun-hpc/gorun/bootstrap"
)

// homeless has the lost ranks that wait for a pod because no host has room for them. The job counts them as
// running. The zero value has no ranks.
type homeless struct {
	ranks []*rank
	late  <-chan time.Time // fires when the first of the ranks has waited for -answer-within; nil if no ranks wait
}

// with returns the waiting ranks and other lost ranks, sorted by number.
func (h *homeless) with(lost []*rank) []*rank {
	all := slices.Concat(h.ranks, lost)
	slices.SortFunc(all, func(a, b *rank) int { return a.number - b.number })
	return all
}

// awaitRoom lets lost ranks wait until a pod comes. If no other lost ranks wait already, awaitRoom begins a
// generation in which the surviving ranks wait for the cards of the lost ranks. In the old generation, the
// surviving ranks would try to reach the lost ranks, and would fail.
func (j *job) awaitRoom(lost []*rank, who string) error {
	if j.homeless.late == nil {
		next := bootstrap.Next{Cause: lost[0].how()}
		for _, r := range lost {
			next.Lost = append(next.Lost, r.number)
		}
		if err := j.renewHosts(next, nil); err != nil {
			return err
		}
		j.homeless.late = time.After(j.opts.answer)
	}
	j.homeless.ranks = j.homeless.with(lost)
	complain("%s; no pod has room: %s started again when a pod with room connects; if none does within %v (-answer-within), the job ends", who, pronoun(lost), j.opts.answer)
	return nil
}

// roomCame starts the waiting ranks again if there is room for all of them.
func (j *job) roomCame(who string) {
	lost := j.homeless.ranks
	if len(lost) == 0 || j.house(lost) != nil {
		return
	}
	if err := j.restart(lost, who); err != nil {
		j.verdict.blame(failure{rank: -1, code: exitLauncher, how: fmt.Sprintf("%s; %s not started again: %v", who, pronoun(lost), err)})
		j.end()
	}
}

// roomMissing ends the job because no room was found for the waiting ranks in time.
func (j *job) roomMissing() {
	lost := j.homeless.ranks
	j.verdict.blame(failure{rank: -1, code: exitLauncher, how: fmt.Sprintf("%s; %s not started again: no pod with room has connected within %v (-answer-within; kubectl get pods shows the pods)",
		lost[0].lostWith(), pronoun(lost), j.opts.answer)})
	j.end()
}

// forgetHomeless gives up the waiting ranks when the job ends.
func (j *job) forgetHomeless() {
	for _, r := range j.homeless.ranks {
		j.watch.running--
		j.server.Gone(r.number, r.how())
	}
	j.homeless = homeless{}
}

// lostWith returns a text that says which rank was lost, and how.
func (r *rank) lostWith() string {
	return fmt.Sprintf("rank %d (%spid %d) %s", r.number, r.where(), r.pid, r.how())
}
