package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/gorun-hpc/gorun/bootstrap"
)

// homeless are lost ranks for which no host has room, while a pod may come. The job counts them as running. The
// zero value has none.
type homeless struct {
	ranks []*rank
	late  <-chan time.Time // they have waited long enough
}

// with returns them and others, by number.
func (h *homeless) with(lost []*rank) []*rank {
	all := slices.Concat(h.ranks, lost)
	slices.SortFunc(all, func(a, b *rank) int { return a.number - b.number })
	return all
}

// awaitRoom keeps ranks that were lost until a pod comes. The others enter a generation meanwhile in which they wait for
// the cards of these: in the old one they would try to reach them, and give that up.
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
	complain("%s; no pod has room: %s started again when one comes, within %v (-answer-within)", who, pronoun(lost), j.opts.answer)
	return nil
}

// roomCame starts the ranks again that have waited for room, if there is enough for all of them.
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

// roomMissing ends a job whose ranks have waited long enough.
func (j *job) roomMissing() {
	lost := j.homeless.ranks
	j.verdict.blame(failure{rank: -1, code: exitLauncher, how: fmt.Sprintf("%s; %s not started again: no pod has come within %v (kubectl get pods; -answer-within)",
		lost[0].lostWith(), pronoun(lost), j.opts.answer)})
	j.end()
}

// forgetHomeless gives up the ranks that wait, because the job ends.
func (j *job) forgetHomeless() {
	for _, r := range j.homeless.ranks {
		j.watch.running--
		j.server.Gone(r.number, r.how())
	}
	j.homeless = homeless{}
}

// lostWith says which rank was lost, and why.
func (r *rank) lostWith() string {
	return fmt.Sprintf("rank %d (%spid %d) %s", r.number, r.where(), r.pid, r.how())
}
