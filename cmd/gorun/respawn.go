package main

import (
	"errors"
	"fmt"
	"os"
	goruntime "runtime"
	"strconv"
	"strings"

	"github.com/gorun-hpc/gorun/bootstrap"
	"github.com/gorun-hpc/gorun/cmd/gorun/internal/placement"
)

const (
	// restartsDefault is how many restarts a job has with -on-failure respawn.
	restartsDefault = 3
	// restartsMax bounds respawn=N: the generations of a job share the addresses of its ranks.
	restartsMax = 10000
	// stillbornMax is how often in a row a rank may end before it has joined the job.
	stillbornMax = 2
)

// restarts is what a job knows about ranks that were started again.
type restarts struct {
	spawner *spawner // nil where ranks are not started again
	count   int      // of the job
}

// respawn starts a rank again that has ended, in the next generation of the job. It returns
// false if the rank is not started again, and adds the reason to its failure.
func (j *job) respawn(r *rank, f *failure) bool {
	if j.opts.onFailure != bootstrap.OnFailureRespawn || r.said != nil || j.watch.ending {
		return false // a rank that says with which error it ends would end with it again
	}
	j.noteJoined()
	if r.stillborn++; r.joined {
		r.stillborn = 0
	}
	switch {
	case j.restarts.count >= j.opts.restarts:
		f.how += fmt.Sprintf("; it is not started again after %d restarts (-on-failure respawn=%d)", j.restarts.count, j.opts.restarts)
		return false
	case r.stillborn >= stillbornMax:
		f.how += "; it is not started again, because it ended twice before it had joined the job"
		return false
	case !j.server.Renewable(r.number):
		f.how += "; it is not started again, because the function of World.Resume has ended at all ranks"
		return false
	}
	j.restarts.count++
	complain("rank %d (%spid %d) %s; it is started again (%d of %d)", r.number, r.where(), r.pid, r.how(), j.restarts.count, j.opts.restarts)
	if err := j.renew(r); err != nil {
		f.how += fmt.Sprintf("; it cannot be started again: %v", err)
		return false
	}
	j.watch.running++
	j.watch.hang = hang{}
	return true
}

// noteJoined notes which processes have joined the job, before the next generation in which they
// join it again.
func (j *job) noteJoined() {
	for _, r := range j.ranks {
		r.joined = r.joined || j.server.State(r.number) == bootstrap.RankJoined
	}
}

// renew begins the next generation of the job, and starts the rank that has ended.
func (j *job) renew(r *rank) error {
	s := j.restarts.spawner
	if err := s.renew(); err != nil {
		return err
	}
	cause := r.how()
	begun, err := j.server.Renew(bootstrap.Next{
		Lost: []int{r.number}, Cause: cause, Memory: s.memory, Shelf: s.shelf,
		Describe: func(rank int) bootstrap.Job { return s.jobOf(j.ranks[rank]) },
	})
	if err == nil && !begun {
		err = errors.New("a rank has left the job")
	}
	if err == nil {
		r.again()
		err = s.startAgain(r)
	}
	return errors.Join(err, s.memory.Close())
}

// again prepares a rank for its next start.
func (r *rank) again() {
	*r = rank{
		number: r.number, local: r.local, app: r.app, host: r.host, path: r.path, cpus: r.cpus, place: r.place,
		epoch: r.epoch + 1, stillborn: r.stillborn,
	}
}

// renew makes the node memory of the next generation.
func (s *spawner) renew() (err error) {
	s.describe.Generation++
	s.memory, s.describe.NodeRange, s.shelf, err = bootstrap.SharedMemory(len(s.node.ranks), s.describe.Size, s.generations)
	return err
}

// startAgain starts one rank after the others. Its thread lives as long as gorun, see start.
func (s *spawner) startAgain(r *rank) error {
	started := make(chan error)
	go func() {
		goruntime.LockOSThread()
		err := s.node.children.start(r, s.startRank, s.node.reap)
		if s.node.bind != placement.None {
			err = errors.Join(err, bindThread(s.node.cpus), preferMemory(-1))
		}
		started <- err
		select {}
	}()
	return <-started
}

// inputAgain is what a rank reads that was started again: nothing, because its predecessor may
// have read of what there is.
func inputAgain(*rank) (*os.File, bool, error) { return nil, false, nil }

// mayRespawn refuses -on-failure respawn where it is not possible.
func (o *options) mayRespawn() error {
	if o.onFailure == bootstrap.OnFailureRespawn && len(o.hosts) > 0 {
		return errors.New("-on-failure respawn is for jobs on this machine alone, and there are hosts")
	}
	return nil
}

// setOnFailure reads -on-failure.
func setOnFailure(o *options, _ *app, v string) error {
	name, count, counted := strings.Cut(v, "=")
	if name != bootstrap.OnFailureRespawn {
		return setOneOf(&o.onFailure, v, bootstrap.OnFailureKill, bootstrap.OnFailureContinue, bootstrap.OnFailureRespawn)
	}
	o.onFailure, o.restarts = name, restartsDefault
	if !counted {
		return nil
	}
	n, err := strconv.Atoi(count)
	if err != nil || n < 1 || n > restartsMax {
		return fmt.Errorf("want respawn=N with N from 1 to %d restarts", restartsMax)
	}
	o.restarts = n
	return nil
}
