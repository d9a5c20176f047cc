package main

import (
	"time"

	"github.com/gorun-hpc/gorun/bootstrap"
	"github.com/gorun-hpc/gorun/cmd/gorun/internal/link"
)

// causeDelay is how long gorun waits for the end of a rank whose loss another rank has named as the reason for its
// own end. That report can arrive first: the kernel closes the connections of a process before its parent can
// reap it, and the reports of two agents are not ordered.
const causeDelay = 2 * time.Second

// suspense is the state of a job in which a rank has failed and named the loss of another rank as the reason, while
// the end of that other rank is not known yet. The job goes on meanwhile: once gorun has ended the ranks, it cannot
// tell whether the named rank had ended by itself. In the zero value no rank has failed in this way.
type suspense struct {
	of    *rank            // the named rank
	heard <-chan struct{}  // closed when the agent of that rank has sent anything since; nil for a rank of this machine
	late  <-chan time.Time // fires when the wait is over
	// patient is true if the wait was extended once, because the agent is silent.
	patient bool
	// untold are the ranks whose ends the other ranks have not been told of. Told of them, the others would end
	// as well and name these ranks as the reason.
	untold []*rank
}

// endKnowing ends all ranks except spared, which is about to end by itself and may be nil, once the cause of the
// first failure is known or cannot be expected any more.
func (j *job) endKnowing(spared *rank) {
	s, of := &j.watch.suspense, j.verdict.cause()
	if j.watch.ending || !j.mayHaveEnded(of) {
		j.endExcept(spared)
		return
	}
	if s.late == nil {
		// The wait does not begin again for the cause of a cause, so that its total time is bounded.
		s.late = time.After(causeDelay)
	}
	if s.of != of {
		s.of, s.heard = of, nil
		if of.remote != nil {
			s.heard = of.remote.conn.Heard()
		}
	}
}

// mayHaveEnded reports whether a report of the end of r may still arrive and matter. It returns false if r is nil
// or has finalized, which is no failure; if lost ranks are started again; and if the other ranks continue after a
// failure.
func (j *job) mayHaveEnded(r *rank) bool {
	return r != nil && r.running() && j.server.State(r.number) != bootstrap.RankFinalized &&
		!j.opts.respawns() && j.opts.onFailure != bootstrap.OnFailureContinue
}

// suspenseLate ends the job when the wait for the named rank is over: that rank runs, but the connection to it is
// broken. If its agent has been silent, suspenseLate extends the wait once until gorun would declare the host lost.
func (j *job) suspenseLate() {
	s := &j.watch.suspense
	select {
	case <-s.heard:
	default:
		if s.heard != nil && !s.patient {
			s.patient, s.late = true, time.After(link.Silence)
			return
		}
	}
	j.end()
}

// gone tells the other ranks of the end of r, or notes r as untold while a named rank is waited for.
func (j *job) gone(r *rank) {
	if j.watch.suspense.late != nil && !j.watch.ending {
		j.watch.suspense.untold = append(j.watch.suspense.untold, r)
		return
	}
	j.server.Gone(r.number, r.how())
}

// tellGone tells the other ranks of the ends of the untold ranks. It is called when the job ends.
func (j *job) tellGone() {
	for _, r := range j.watch.suspense.untold {
		j.server.Gone(r.number, r.how())
	}
	j.watch.suspense = suspense{}
}
