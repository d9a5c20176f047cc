package main

import (
	"time"

	"github.com/gorun-hpc/gorun/bootstrap"
	"github.com/gorun-hpc/gorun/cmd/gorun/internal/link"
)

// causeDelay is how long gorun waits for the end of a named rank. A rank is named if another rank has
// reported the loss of that rank as the reason for its own end. The report can arrive before gorun learns
// that the named rank has ended, for two reasons. The kernel closes the connections of a process before its parent
// can reap it. The reports of two agents are not ordered.
const causeDelay = 2 * time.Second

// suspense is the state of a job while gorun waits for the end of a named rank (see causeDelay). Meanwhile
// the job goes on, because after gorun has ended the ranks, it cannot tell whether the named rank had ended
// by itself. In the zero value, no rank is named.
type suspense struct {
	of    *rank            // the named rank
	heard <-chan struct{}  // closed when that rank's agent has sent a frame since the wait began; nil for a local rank
	late  <-chan time.Time // fires when the wait is over
	// patient is true if the wait was extended once, because the agent is silent.
	patient bool
	// untold are the ranks of whose ends gorun has not told the other ranks yet. If gorun told the other ranks,
	// these would also end, and would name the untold ranks as the reason.
	untold []*rank
}

// endKnowing ends all ranks, except the rank in the parameter spared, which is about to end by itself. spared may
// be nil. If the end of a named rank may still be reported, endKnowing only starts the wait for this report, and all
// ranks are ended after the wait (see suspense).
func (j *job) endKnowing(spared *rank) {
	s, of := &j.watch.suspense, j.verdict.cause()
	if j.watch.ending || !j.mayHaveEnded(of) {
		j.endExcept(spared)
		return
	}
	if s.late == nil {
		// If the named rank has also ended and named another rank, the timer continues to run, so that the
		// total wait is bounded.
		s.late = time.After(causeDelay)
	}
	if s.of != of {
		s.of, s.heard = of, nil
		if of.remote != nil {
			s.heard = of.remote.conn.Heard()
		}
	}
}

// mayHaveEnded reports whether a report of the end of r may still arrive and matter. It returns false if r is
// nil, has ended or has finalized. It also returns false if lost ranks are started again, or if the other ranks
// continue after a failure.
func (j *job) mayHaveEnded(r *rank) bool {
	return r != nil && r.running() && j.server.State(r.number) != bootstrap.RankFinalized &&
		!j.opts.respawns() && j.opts.onFailure != bootstrap.OnFailureContinue
}

// suspenseLate ends the job when the wait for the named rank is over. The named rank then seems to run, although
// another rank has lost the connection to it. If the agent of the named rank has been silent, suspenseLate extends the
// wait once until gorun would declare the host lost.
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

// gone tells the other ranks of the end of r. While gorun waits for the end of a named rank, gone instead
// adds r to untold.
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
