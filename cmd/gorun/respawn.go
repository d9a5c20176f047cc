package main

import (
	"errors"
	"fmt"
	"os"
	goruntime "runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/bootstrap"
	"github.com/gorun-hpc/gorun/cmd/gorun/internal/placement"
)

const (
	// restartsDefault is the maximum number of restarts of a job with -on-failure respawn.
	restartsDefault = 3
	// restartsMax bounds N in respawn=N. A rank keeps the node memory of all generations mapped. Therefore all
	// generations must fit in its 47 bits of addresses.
	restartsMax = 10000
	// If stillbornMax consecutive processes of a rank have ended before they joined the job, the rank is not
	// started again.
	stillbornMax = 2
)

// restarts is the state of a job whose ranks are started again after a loss.
type restarts struct {
	spawner *spawner // of this machine; nil if the job has hosts, or does not start ranks again
	count   int      // restarts of the job; one restart may replace several lost ranks
	// unused counts, by program, the spares that have ended or could not be started since a spare last became a
	// rank.
	unused map[*app]int
}

// respawns reports whether ranks are started again.
func (o *options) respawns() bool { return o.onFailure == bootstrap.OnFailureRespawn }

// respawn restarts ranks that were lost together, in the next generation of the job, or makes them wait for a pod,
// and returns true. If it does neither, it returns false and adds the reason to f, the failure of these ranks. It
// adds no reason if the job does not restart ranks or is ending, or if the reason is errSaid.
func (j *job) respawn(lost []*rank, f *failure) bool {
	if !j.opts.respawns() || j.watch.ending {
		return false
	}
	who := f.how
	if f.rank >= 0 {
		who = lost[0].lostWith()
	}
	why := j.final(lost)
	if errors.Is(why, errSaid) {
		return false
	}
	if why == nil {
		why = j.returnOrWait(lost, who)
	}
	if why == nil {
		j.watch.running += len(lost)
		return true
	}
	f.then = fmt.Sprintf("; %s not started again, because %v", pronoun(lost), why)
	return false
}

// returnOrWait starts the lost ranks again, together with the ranks that wait for a host. If the hosts have no room
// for all of them, and pods may still connect, it makes the lost ranks wait, too.
func (j *job) returnOrWait(lost []*rank, who string) error {
	all := j.homeless.with(lost)
	why := j.house(all)
	if why == nil {
		return j.restart(all, who)
	}
	if _, full := errors.AsType[*noRoomError](why); full && j.visits != nil {
		return j.awaitRoom(lost, who)
	}
	return why
}

// restart starts lost ranks again after house has assigned a host to each of them. who describes the loss, or
// the event that has made room for the ranks.
func (j *job) restart(lost []*rank, who string) error {
	j.restarts.count++
	complain("%s; %s started again%s (%d of %d)", who, pronoun(lost), moved(lost), j.restarts.count, j.opts.restarts)
	if err := j.renew(lost); err != nil {
		for _, r := range lost {
			if r.remote == nil && r.pid > 0 {
				j.watch.running++ // its new process will end with the job
			} else {
				r.revert()
			}
		}
		return err
	}
	for _, r := range lost {
		if r.warm {
			j.used(r.app) // on a remote host, the agent's answer reports the use of a spare
		}
	}
	j.homeless, j.watch.hang = homeless{}, hang{}
	return nil
}

func pronoun(lost []*rank) string {
	if len(lost) == 1 {
		return "it is"
	}
	return "they are"
}

// moved returns a text with the hosts of those ranks that are started again on a different host, or "" if there are
// none.
func moved(lost []*rank) string {
	var names []string
	for _, r := range lost {
		if r.remote != nil && r.host != r.remote.name && !slices.Contains(names, r.remote.name) {
			names = append(names, r.remote.name)
		}
	}
	if names == nil {
		return ""
	}
	return " on " + strings.Join(names, ", ")
}

// errSaid is the reason for which a rank is not started again after it has reported an error of its own. The
// rank would end with the same error again. The job's last output shows that error and not errSaid.
var errSaid = errors.New("it has an error of its own")

// final returns the reason why lost ranks must not be started again, or nil if they may be started again.
func (j *job) final(lost []*rank) error {
	for _, r := range j.ranks {
		// The state is read before the next generation begins, because all ranks join again in that
		// generation.
		r.joined = r.joined || j.server.State(r.number) == bootstrap.RankJoined
	}
	numbers := make([]int, len(lost))
	for i, r := range lost {
		if r.said != nil {
			return errSaid
		}
		if r.stillborn++; r.joined {
			r.stillborn = 0
		}
		r.cold = r.stillborn > 0 // its process may have been a spare, and the next spare might end in the same way
		if r.stillborn >= stillbornMax {
			return errors.New("it ended twice before it had joined the job")
		}
		numbers[i] = r.number
	}
	switch {
	case j.restarts.count >= j.opts.restarts:
		return fmt.Errorf("the job has had all its restarts, %d (-on-failure respawn=%d)", j.restarts.count, j.opts.restarts)
	case !j.server.Renewable(numbers...):
		return errors.New("the function of World.Resume has ended at all ranks, or a rank has left the job or ended")
	}
	return nil
}

// again prepares a rank, whose process has ended, for its next start. generation is the last generation of the job in
// which that process was the rank.
func (r *rank) again(generation int) {
	before := r.incarnation()
	before.generation = generation
	r.before, r.last = append(r.before, before), nil
	r.pid, r.child, r.starting, r.warm = 0, 0, r.remote != nil, false
	r.ended, r.status, r.usage, r.clean = time.Time{}, 0, unix.Rusage{}, false
	r.doing, r.joined, r.handled, r.asked, r.answered, r.lost, r.said = nil, false, false, 0, 0, "", nil
	r.epoch++
	if r.remote == nil {
		r.conn, r.served = nil, nil
		return
	}
	r.remote.mu.Lock()
	defer r.remote.mu.Unlock()
	r.host, r.served = r.remote.name, make(chan struct{}) // before a frame of the next process can arrive
}

// renew begins the next generation of the job, and starts the lost ranks in it.
func (j *job) renew(lost []*rank) error {
	next := bootstrap.Next{Cause: lost[0].how()}
	for _, r := range lost {
		next.Lost = append(next.Lost, r.number)
		r.again(j.server.Generation())
	}
	if len(j.hosts) > 0 {
		return j.renewHosts(next, lost)
	}
	s := j.restarts.spawner
	s.describe.Generation++
	err := s.renew(next, lost, func(n bootstrap.Next) error {
		s.mapRecords()
		begun, err := j.server.Renew(n)
		if err == nil && !begun {
			err = errors.New("a rank has left the job")
		}
		return err
	})
	return errors.Join(err, s.presentAll(lost))
}

// renew makes the resources that the ranks of the next generation share on this node. It gives the lost ranks, except
// cold ones, the processes of spares until no spare is left. Then it calls begin, which calls mapRecords and begins the
// generation. Finally, renew starts the other lost ranks. Before the call, the caller sets s.describe and the ranks of
// the node for the next generation. After the call, the caller calls presentAll, also after an error.
func (s *spawner) renew(next bootstrap.Next, lost []*rank, begin func(bootstrap.Next) error) error {
	if err := s.share(); err != nil {
		return err
	}
	warm := map[int]bool{}
	for _, r := range lost {
		r.warm = !r.cold && s.engage(r)
		warm[r.number] = r.warm
	}
	next.Memory, next.Shelf = s.memory, s.shelf
	next.Warm = func(number int) bool { return warm[number] }
	next.Describe = func(number int) bootstrap.Job {
		return s.jobOf(s.node.ranks[slices.IndexFunc(s.node.ranks, func(r *rank) bool { return r.number == number })])
	}
	err := begin(next)
	for _, r := range lost {
		if err == nil && !r.warm {
			err = s.onThread(r, s.startRank)
		}
	}
	return errors.Join(err, s.unshare())
}

// presentAll presents those of the lost ranks to which renew has given a process.
func (s *spawner) presentAll(lost []*rank) error {
	var err error
	for _, r := range lost {
		if r.child > 0 {
			err = errors.Join(err, s.present(r))
		}
	}
	return err
}

// onThread starts a process after the initial processes were started. One thread starts all these processes.
// The thread lives as long as gorun, for the reason that spawner.start gives.
func (s *spawner) onThread(r *rank, start func(*rank) error) error {
	if s.orders == nil {
		s.orders = make(chan func())
		go func() {
			goruntime.LockOSThread()
			for order := range s.orders {
				order()
			}
		}()
	}
	started := make(chan error)
	s.orders <- func() {
		err := s.node.children.start(r, start, s.node.reap)
		if s.node.bind != placement.None {
			err = errors.Join(err, bindThread(s.node.cpus), preferMemory(-1))
		}
		started <- err
	}
	return <-started
}

// inputAgain returns the standard input of a rank that was started again. That input is empty, because the
// former process may have read a part of the input.
func inputAgain(*rank) (*os.File, bool, error) { return nil, false, nil }

// mayRespawn returns an error if -spares is given without -on-failure respawn. It also returns an error if the job
// would never have so many spares, because it runs on one machine and has fewer restarts (see target).
func (o *options) mayRespawn() error {
	switch {
	case o.spares == 0:
		return nil
	case !o.respawns():
		return errors.New("-spares is for -on-failure respawn")
	case len(o.hosts) == 0 && !o.manifest && o.spares > o.restarts:
		return fmt.Errorf("-spares %d: on one machine a restart uses one spare, and the job may have %s (-on-failure respawn=N): want at most %s",
			o.spares, counted(o.restarts, "restart"), counted(o.restarts, "spare"))
	}
	return nil
}

// setOnFailure parses the value of -on-failure.
func setOnFailure(o *options, _ *app, v string) error {
	name, count, counted := strings.Cut(v, "=")
	if o.restarts = 0; name != bootstrap.OnFailureRespawn {
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
