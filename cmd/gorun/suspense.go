package main

import (
	"time"

	"github.com/gorun-hpc/gorun/bootstrap"
	"github.com/gorun-hpc/gorun/cmd/gorun/internal/link"
)

// causeDelay is how long the end of a rank is waited for that another one has named as the reason for its own.
// The kernel closes the connections of a process before its parent can know of its end, and what the
// agents of two hosts say overtakes each other.
const causeDelay = 2 * time.Second

// suspense is the time in which a rank has failed because of the loss of another one, as it says, whose end is not
// known yet. The job goes on meanwhile: if it were ended, nobody could tell whether the rank that is named
// has ended by itself. The zero value is that of a job in which no rank has failed so.
type suspense struct {
	of    *rank            // that is waited for
	heard <-chan struct{}  // closed when its agent has said anything since; nil for one of this machine
	late  <-chan time.Time // it has lasted long enough
	// patient says that it was made longer once, for an agent that is silent.
	patient bool
	// untold are ranks whose ends the others do not know of: they would end by them, and name these.
	untold []*rank
}

// endKnowing ends the job, with the exception of a rank that is about to end by itself, as soon as the cause
// of the first failure is known, or is not to be expected any more.
func (j *job) endKnowing(spared *rank) {
	s, of := &j.watch.suspense, j.verdict.cause()
	if j.watch.ending || !j.mayHaveEnded(of) {
		j.endExcept(spared)
		return
	}
	if s.late == nil {
		// Not again for the cause of a cause: the job ends within the time.
		s.late = time.After(causeDelay)
	}
	if s.of != of {
		s.of, s.heard = of, nil
		if of.remote != nil {
			s.heard = of.remote.conn.Heard()
		}
	}
}

// mayHaveEnded reports whether the end of a rank, nil for none, may be on its way and count. One that has left
// the job in order has not failed; the loss of one that would be started again is no failure, but that nobody
// goes on after it; and where the others go on anyway, the job ends for another reason.
func (j *job) mayHaveEnded(r *rank) bool {
	return r != nil && r.running() && j.server.State(r.number) != bootstrap.RankFinalized &&
		!j.opts.respawns() && j.opts.onFailure != bootstrap.OnFailureContinue
}

// suspenseLate ends a job whose ranks have named one that has not ended: the way to it is broken. An agent
// that has been silent may have its end to tell, unless it is lost itself.
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

// gone tells the others of the end of a rank, when they may know.
func (j *job) gone(r *rank) {
	if j.watch.suspense.late != nil && !j.watch.ending {
		j.watch.suspense.untold = append(j.watch.suspense.untold, r)
		return
	}
	j.server.Gone(r.number, r.how())
}

// tellGone tells them when the job ends.
func (j *job) tellGone() {
	for _, r := range j.watch.suspense.untold {
		j.server.Gone(r.number, r.how())
	}
	j.watch.suspense = suspense{}
}
