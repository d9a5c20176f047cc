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

// Role says how a rank has come into a World.
type Role int

// The roles of a rank.
const (
	// Initial is a rank of a job that has lost none yet.
	Initial Role = iota
	// Recovered is a rank whose process was started in place of one that has ended.
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

// ErrResume refuses a second World.Resume in a process.
var ErrResume = errors.New("World.Resume was called before")

// renewalMost bounds how long Resume waits, after an operation has ended with the loss of a rank,
// for gorun to say that it has started the rank again. A rank that was lost without having
// ended, such as one that cannot be reached any more, is not started again.
const renewalMost = 30 * time.Second

// Role returns how this rank has come into the World: Initial, Recovered or Survivor.
func (w *World) Role() Role { return w.role }

// Generation returns how many losses the job had gone on after before this World was made: 0 if no rank
// was lost. The ranks of a host that are lost with it are one loss. A loss whose ranks have had to wait for a pod
// counts twice.
func (w *World) Generation() int { return w.job.Generation }

// Resume runs fn, and runs it again after the loss of a rank, if gorun starts that rank again
// (gorun -on-failure respawn). It returns nil when fn has returned nil at all ranks, with the
// same World generation, and the error of fn if that is not due to a loss. Without respawn it
// is a call of fn.
//
// An error is due to a loss if it is a PeerError, or wraps one; so may be the ErrCommClosed of a send whose
// receiver has closed the communicator, because it knew of the loss before. Any other, such as one with the
// text of a PeerError alone, ends the job, whether a rank has been lost meanwhile or not.
//
// When a rank ends, gorun starts its program again, on another host if its own is lost: Main runs from
// its beginning to Resume, where Role is Recovered; with -spares the program has been started before. At the other ranks every operation ends with PeerError, those that
// are under way and all later ones, on every communicator. Then fn is to return; Resume leaves
// the World and runs fn again, with a new World in which Role is Survivor and all ranks are
// present. That happens at a rank where fn has returned nil, too, as long as it has not at all.
//
// Nothing of the old World reaches the new one: messages, communicators, requests, Buffers,
// Shared memory and PIDs belong to the World in which they were made. Memory of an old World is
// readable, as zeros, but holds nothing any more. Package checkpoint keeps what fn needs.
//
// Before Resume the function of Main may not communicate: the other ranks do not, when a rank
// is started again. A process calls Resume once; World.Close of the World of Main closes the
// last one.
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

// dueToLoss reports whether an error with which fn has returned is due to the end of the World. It
// does not ask whether a rank was lost: another error would end the job or not by who is faster.
func dueToLoss(err error) bool {
	var lost *PeerError
	return errors.As(err, &lost) || errors.Is(err, bootstrap.ErrRenewed) || errors.Is(err, errDropped)
}

// isOver reports whether the World has ended with the loss of a rank. gorun may know of the loss later
// than this rank.
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

// withoutResume is said at a rank that ends with the loss of another one because it is not in Resume.
const withoutResume = "; it is started again, but this rank cannot go on: the program has to call World.Resume"

// renewed ends all operations, because a rank has ended and the job goes on in another World. It is
// called again when a further rank has ended.
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
	// Those that live leave this World, too: no transfer is to wait for one of them. After Abort,
	// because no error is to name them.
	for rank := range w.Size() {
		if rank != w.Rank() {
			w.engine.MarkDown(rank, causeError(r.Cause))
		}
	}
}

// renew leaves a World that is over, and returns that of the next generation of the job. If that
// is over before all ranks are there, it is left for the one after it.
func (w *World) renew() (*World, error) {
	defer w.heedQuit()()
	err := w.abandon()
	for err == nil {
		if err = w.session.Renew(); err != nil {
			break
		}
		var next *World
		if next, err = enter(w.session, Survivor, w.life); err == nil {
			next.line = w.line
			next.resumed.Store(true)
			w.line.newest.Store(next)
			w.shm.Discard() // no rank uses it any more: all have come into the new World
			return next, nil
		}
		if errors.Is(err, bootstrap.ErrRenewed) {
			err = nil
		}
	}
	return nil, fmt.Errorf("World.Resume: %w", err)
}

// lineage is what the Worlds of a process have in common.
type lineage struct {
	// newest is the World that all others have led to, nil if there is but one. The others are
	// not held: they may be large.
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

// abandon leaves a World whose other ranks leave it, too, or are lost: it waits for none of
// them. Afterwards this process neither reads nor writes memory of theirs. It does nothing with a World that
// was left.
func (w *World) abandon() error {
	w.closing.Do(func() { w.closeErr = w.drop() })
	return w.closeErr
}

// drop is abandon, once.
func (w *World) drop() error {
	w.stop()
	w.renewed() // if the program was faster than the goroutine that takes notices
	for _, core := range w.comms.all() {
		_ = core.attributes.close() // their errors are due to the loss
	}
	err := w.engine.Close()
	w.actors.end()
	err = errors.Join(err, w.network.abandon())
	w.engine.EndMoves()
	return errors.Join(err, w.shm.Close())
}
