package runtime

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/gorun-hpc/gorun/bootstrap"
	"github.com/gorun-hpc/gorun/internal/callsite"
)

// Role is the way in which a rank has come into a World.
type Role int

// The roles of a rank.
const (
	// Initial is a rank whose World was made before gorun started a lost rank of the job again.
	Initial Role = iota
	// Recovered is a rank whose process was started in place of a process that has ended.
	Recovered
	// Survivor is a rank whose process was in the job when another rank ended.
	Survivor
)

// String returns the role in words.
func (r Role) String() string {
	switch r {
	case Initial:
		return "initial"
	case Recovered:
		return "recovered"
	case Survivor:
		return "survivor"
	default:
		return fmt.Sprintf("Role(%d)", int(r))
	}
}

// ErrResume is the error of a second World.Resume in a process.
var ErrResume = errors.New("World.Resume was called before")

// renewalMost bounds how long Resume waits, after an operation has ended with the loss of a rank,
// for gorun's notice that the rank is started again. There is no such notice for a lost rank whose
// process has not ended, such as a rank that cannot be reached any more.
const renewalMost = 30 * time.Second

// Role returns how this rank has come into the World: Initial, Recovered or Survivor.
func (w *World) Role() Role { return w.role }

// Generation returns how many losses the job had survived when this World was made; 0 if no rank had been
// lost. Ranks that are lost together with their host count as one loss. A loss counts twice if its
// ranks had to wait until Kubernetes had started another pod.
func (w *World) Generation() int { return w.job.Generation }

// Resume runs fn, and runs it again after the loss of a rank, if gorun starts that rank again
// (gorun -on-failure respawn). It returns nil when fn has returned nil at all ranks in the same
// generation. It returns the error of fn if the error is not due to a loss, or if gorun does not
// announce within 30 s that a lost rank is started again. Without respawn it only calls fn.
//
// An error is due to a loss if it is or wraps a PeerError. The ErrCommClosed of a send may also be
// due to a loss: the receiver may have learned of the loss earlier and closed the communicator. Any
// other error ends the job, even if a rank has been lost meanwhile. An error with only the text of a
// PeerError ends the job, too.
//
// When a rank ends, gorun starts its program again, on another host if the host of the rank is lost.
// In the new process, the function of Main runs from its beginning to Resume, and Role is Recovered. With
// -spares, this process has been started in advance. At the other ranks every operation on every
// communicator, under way or later, ends with PeerError. fn must then return. Resume leaves the World
// and runs fn again, with a new World in which Role is Survivor and all ranks are present. Resume also
// runs fn again at a rank where fn has returned nil, as long as fn has not returned nil at all ranks.
//
// Nothing passes from the old World to the new one: messages, communicators, requests, Buffers,
// Shared memory and PIDs belong to the World in which they were made. Memory of an old World can
// be read, but zeros may have replaced its contents. Package checkpoint keeps the data that fn needs.
//
// The function of Main must not communicate before it calls Resume: when a rank is started again,
// the other ranks do not run the part before Resume. A process calls Resume once. World.Close
// of any World of the process closes the newest World.
func (w *World) Resume(fn func(w *World) error) error {
	if w.resumed.Swap(true) {
		return callsite.At(ErrResume)
	}
	if w.job.OnFailure != bootstrap.OnFailureRespawn {
		return fn(w)
	}
	for now := w; ; {
		err := fn(now)
		if err == nil {
			err = w.session.Fence(context.Background())
		}
		if err == nil || !dueToLoss(err) || !now.isOver() {
			return err
		}
		next, err := now.renew()
		if err != nil {
			return err
		}
		now = next
	}
}

// dueToLoss reports whether an error of fn is due to the end of the World. It does not check
// whether a rank was lost. With such a check, timing would decide whether an unrelated error ends
// the job.
func dueToLoss(err error) bool {
	var lost *PeerError
	return errors.As(err, &lost) || errors.Is(err, bootstrap.ErrRenewed) || errors.Is(err, errDropped)
}

// isOver reports whether the World has ended with the loss of a rank. gorun may detect the loss
// later than this rank, so isOver waits for gorun's notice, at most renewalMost.
func (w *World) isOver() bool {
	wait := time.NewTimer(renewalMost)
	defer wait.Stop()
	select {
	case <-w.session.Renewed():
		return true
	case <-w.session.Lost():
		return false
	case <-wait.C:
		return false
	}
}

// withoutResume is appended to the cause of a PeerError at a rank that has not called Resume. Such a
// rank ends when another rank is lost.
const withoutResume = "; it is started again, but this rank cannot go on: the program has to call World.Resume"

// renewed ends all operations, because a rank has ended and the job continues in another World. It is
// called again after the end of each further rank.
func (w *World) renewed() {
	r := w.session.Renewal()
	if r == nil {
		return
	}
	for _, rank := range r.Lost {
		w.deaths.note(rank, causeError(r.Cause))
	}
	w.over.Store(true)
	lost := &PeerError{Rank: r.Lost[0], Op: "World", Cause: causeError(r.Cause)}
	if !w.resumed.Load() {
		lost.Cause = causeError(r.Cause + withoutResume)
	}
	for _, core := range w.comms.all() {
		w.broken(core, &BrokenError{Comm: core.name, Rank: w.Rank(), Cause: lost, origin: r.Lost[0], over: true}, nil)
	}
	w.engine.Abort(lost)
	// The living ranks leave this World, too. GiveUp ends the transfers that would wait for them.
	// GiveUp follows Abort, because the errors of the transfers would otherwise name ranks that
	// live.
	for _, rank := range r.Lost {
		w.engine.MarkDown(rank, causeError(r.Cause))
	}
	for rank := range w.Size() {
		if rank != w.Rank() {
			w.engine.GiveUp(rank, causeError(r.Cause)) // no effect for the lost ranks
		}
	}
}

// renew leaves a World that is over, and returns the World of the next generation of the job. If
// that generation ends before all ranks have joined it, renew goes on to the generation after that.
func (w *World) renew() (*World, error) {
	defer w.heedQuit()()
	err := w.abandon()
	left := []*World{w}
	for err == nil {
		if err = w.session.Renew(); err != nil {
			break
		}
		var next *World
		if next, err = enter(w.session, Survivor, w.life); err == nil {
			next.line = w.line
			next.resumed.Store(true)
			w.line.newest.Store(next)
			discard(left)
			return next, nil
		}
		if errors.Is(err, bootstrap.ErrRenewed) {
			left = append(left, next)
			err = nil
		}
	}
	return nil, fmt.Errorf("World.Resume: %w", err)
}

// discard gives back the node memory of Worlds that this process has left. All ranks are in a newer
// World, so no rank uses this memory.
func discard(left []*World) {
	for _, w := range left {
		w.shm.Discard()
	}
}

// lineage is the state that the Worlds of a process share.
type lineage struct {
	// newest is the newest World of the process, nil if there is only one. Older Worlds are not
	// referenced here, because they may be large.
	newest atomic.Pointer[World]
}

// last returns the newest World of the process.
func (w *World) last() *World {
	if w.line != nil {
		if newest := w.line.newest.Load(); newest != nil {
			return newest
		}
	}
	return w
}

// abandon leaves a World without waiting for the other ranks, which also leave it or are lost.
// Afterwards this process neither reads nor writes their memory. abandon does nothing if the World
// was left or closed before.
func (w *World) abandon() error {
	w.closing.Do(func() { w.closeErr = w.drop() })
	return w.closeErr
}

// drop does the work of abandon. It is called once.
func (w *World) drop() error {
	w.stop()
	w.renewed() // needed if the goroutine that handles notices has not called it yet
	for _, core := range w.comms.all() {
		_ = core.attributes.close() // their errors are due to the loss
	}
	err := w.engine.Close()
	w.actors.end()
	err = errors.Join(err, w.network.abandon())
	w.engine.EndMoves()
	return errors.Join(err, w.shm.Close())
}
