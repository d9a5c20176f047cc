package runtime

import (
	"context"
	"errors"
	"fmt"
	"os"
	goruntime "runtime"
	"slices"
	"sync"
	"time"

	"github.com/gorun-hpc/gorun/bootstrap"
	"github.com/gorun-hpc/gorun/internal/callsite"
	"github.com/gorun-hpc/gorun/internal/localjob"
	"github.com/gorun-hpc/gorun/runtime/internal/engine"
	"github.com/gorun-hpc/gorun/transport/shm"
)

// Local runs fn on n ranks that are goroutines of this process, and returns when all have returned.
// The ranks share heap memory, so the race detector sees their accesses. A rank fails if fn returns
// an error, panics or calls runtime.Goexit, or if World.Close fails after fn. Then the operations of the other
// ranks end with ErrAborted, and Local returns only the first failure, as a *RankError; errors.Is and
// errors.As reach its cause.
func Local(n int, fn func(*World) error) error { return LocalContext(context.Background(), n, fn) }

// LocalContext is Local with a context.Context. If ctx ends before a rank has failed, the operations
// of all ranks end with ErrAborted, and the error is a HangError, which describes what each rank was
// doing. So a test that hangs can report why before its deadline:
//
//	deadline, _ := t.Deadline()
//	ctx, cancel := context.WithDeadline(t.Context(), deadline.Add(-time.Second))
//
// A rank that does not call gorun cannot be ended. If a rank still runs a second after the end of
// ctx, the report is also written to standard error.
func LocalContext(ctx context.Context, n int, fn func(*World) error) error {
	return runLocal(ctx, n, 0, fn)
}

// LocalRespawn is LocalContext for programs that continue after the loss of a rank. It does what
// gorun -on-failure respawn=N does, where N is the argument restarts. A rank that panics is lost and
// started again: fn runs from its beginning with Role Recovered, and the other ranks return to
// World.Resume. A rank ends the job if fn returns an error, or if its goroutine ends by runtime.Goexit,
// as in a test that fails. A panic also ends the job if the job has used all its restarts, or if
// World.Resume has ended at all ranks.
func LocalRespawn(ctx context.Context, n, restarts int, fn func(*World) error) error {
	if restarts < 1 {
		return callsite.At(fmt.Errorf("%w: %d restarts", ErrArgument, restarts))
	}
	return runLocal(ctx, n, restarts, fn)
}

// runLocal is LocalContext, or LocalRespawn if restarts is not 0.
func runLocal(ctx context.Context, n, restarts int, fn func(*World) error) error {
	// The ranks do not spin, because spinning would keep the other ranks of the process from running.
	wait, err := tuned(engine.WaitPolicy{Yield: yieldLocal})
	if err != nil {
		return err
	}
	job, err := newLocalJob(n, wait, localjob.Config{Restarts: restarts})
	if err != nil {
		return err
	}
	job.start(fn)
	return job.Wait(ctx)
}

// localJob is the state that the ranks of a Local share.
type localJob struct {
	worlds []*World
	// restarts takes the place of the launcher in a job that starts lost ranks again. In such a
	// job, worlds is empty and council is nil. In any other job, restarts is nil, and council takes
	// the launcher's place.
	restarts *restarts
	council  *localCouncil
	wait     engine.WaitPolicy
	secret   [32]byte
	// processors is GOMAXPROCS at the start of the job. A rank that begins after the program has changed
	// GOMAXPROCS must choose the same algorithms as the other ranks.
	processors int
	// simulated is the configuration of a job that localjob.Start or LocalRespawn has started, else
	// zero. Its Network is set only if the job has a network of its own.
	simulated localjob.Config
	// running counts the goroutines of the ranks and, with restarts, the goroutines that serve them.
	running sync.WaitGroup

	// mu guards the fields below it.
	mu    sync.Mutex
	first error // the failure that came first
	left  int   // how many ranks wait in fence or are dead
	// dead has the ranks that were killed.
	dead map[int]bool
	// The channel over is closed when every rank waits in fence or is dead, or when the job fails or ends.
	over   chan struct{}
	closed bool // whether over is closed
}

// errGoexit is the failure of a rank whose goroutine was ended by runtime.Goexit.
var errGoexit = errors.New("the rank's goroutine was ended by runtime.Goexit (a failed test does that)")

// newLocalJob returns a job of n ranks. It also makes their Worlds, except in a job that starts lost
// ranks again.
func newLocalJob(n int, wait engine.WaitPolicy, simulated localjob.Config) (*localJob, error) {
	if n < 1 {
		return nil, fmt.Errorf("%w: %d ranks", ErrArgument, n)
	}
	node, err := shm.NewLocalNode(n)
	if err != nil {
		return nil, err
	}
	j := &localJob{
		wait: wait, secret: bootstrap.NewSecret(), processors: goruntime.GOMAXPROCS(0), simulated: simulated,
		dead: make(map[int]bool), over: make(chan struct{}),
	}
	if simulated.Restarts > 0 {
		j.restarts = newRestarts(j, node, n)
		return j, nil
	}
	j.worlds = make([]*World, n)
	j.council = newLocalCouncil(j.worlds, simulated.Launcher, j.isSilent)
	for rank := range n {
		if j.worlds[rank], err = j.join(node, rank); err != nil {
			return nil, errors.Join(err, j.close())
		}
	}
	return j, nil
}

// start runs fn on all ranks.
func (j *localJob) start(fn func(*World) error) {
	if j.restarts != nil {
		j.restarts.launch(fn)
	}
	for _, w := range j.worlds {
		j.running.Go(func() { j.run(w, fn) })
	}
}

// Wait implements localjob.Job.
func (j *localJob) Wait(ctx context.Context) error {
	expired := j.watch(ctx)
	j.running.Wait()
	expired()
	return j.close()
}

// join makes the World of one rank.
func (j *localJob) join(node *shm.Node, rank int) (*World, error) {
	size := len(j.worlds)
	w, err := newWorld(bootstrap.Job{
		Rank: rank, Size: size, LocalRank: rank, LocalSize: size, Nodes: 1,
		Processors: j.processors, ID: "local",
	}, node, nil, j.wait, j.secret, j)
	if err == nil {
		w.council = j.council.of(rank)
		w.engine.Start()
	}
	return w, err
}

// run runs fn as one rank.
func (j *localJob) run(w *World, fn func(*World) error) {
	err := w.guard(func() error { return fn(w) })
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		j.fail(w.Rank(), err)
	}
}

// guard calls fn. In Local, a panic of fn or a call of runtime.Goexit is a failure of the rank. If the
// rank is a process of its own, a panic ends the process, as in any Go program.
func (w *World) guard(fn func() error) (err error) {
	if w.local == nil {
		return fn()
	}
	returned := false
	defer func() {
		if returned {
			return
		}
		err = errGoexit
		if v := recover(); v != nil {
			err = &PanicError{Value: v, Stack: panicStack()}
		}
		w.failed(err)
	}()
	err = fn()
	returned = true
	return err
}

// failed reports the failure of this rank of a Local to its localProcess, if it has one, or to the
// localJob.
func (w *World) failed(why error) {
	if w.life != nil {
		w.life.fail(why)
		return
	}
	w.local.fail(w.Rank(), why)
}

// fail ends the job because of the failure of one rank. Only the first failure counts: later
// failures are mostly consequences of the first. A failure of a rank that was killed does not count.
func (j *localJob) fail(rank int, why error) {
	if j.isDead(rank) || !j.blame(&RankError{Rank: rank, Err: why}) {
		return
	}
	abort, ok := errors.AsType[*AbortError](why)
	if !ok {
		abort = &AbortError{Rank: rank, Code: 1, Cause: why}
	}
	j.abort(abort)
}

// blame records a failure if it is the first, and reports whether it is.
func (j *localJob) blame(why error) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.first != nil {
		return false
	}
	j.first = why
	j.end()
	return true
}

// abort ends the operations of all ranks.
func (j *localJob) abort(why error) {
	for _, w := range j.present() {
		w.engine.Abort(why)
	}
	if j.restarts != nil {
		j.restarts.cut()
	}
}

// present returns the Worlds that the ranks are in now.
func (j *localJob) present() []*World {
	if j.restarts != nil {
		return j.restarts.worlds()
	}
	return j.worlds
}

// hangWait is how long ranks may take to return after the end of the context.Context of a LocalContext
// before the report is written to standard error.
const hangWait = time.Second

// watch ends the job when ctx ends. The caller calls stop when all ranks have returned: then ctx has
// no effect any more. If a report is being made, stop waits until the report has been recorded.
func (j *localJob) watch(ctx context.Context) (stop func()) {
	returned, told := make(chan struct{}), make(chan struct{})
	undo := context.AfterFunc(ctx, func() {
		defer close(told)
		hang := &HangError{Cause: context.Cause(ctx), Report: j.Report()}
		if !j.blame(hang) {
			return
		}
		j.abort(fmt.Errorf("%w: %w", ErrAborted, hang.Cause))
		late := time.NewTimer(hangWait)
		defer late.Stop()
		select {
		case <-returned:
		case <-late.C:
			fmt.Fprintln(os.Stderr, hang)
		}
	})
	return func() {
		close(returned)
		if !undo() {
			<-told
		}
	}
}

// Report implements localjob.Job.
func (j *localJob) Report() string {
	worlds := j.present()
	list := make([]bootstrap.Doing, len(worlds))
	for i, w := range worlds {
		list[i] = w.doing()
	}
	return bootstrap.Together(list)
}

// fence waits until every rank waits in fence or is dead, or until the job has failed.
func (j *localJob) fence(rank int) {
	j.mu.Lock()
	if !j.dead[rank] {
		j.leave()
	}
	j.mu.Unlock()
	<-j.over
}

// leave counts a rank for which the other ranks need not wait any more. mu is held.
func (j *localJob) leave() {
	if j.left++; j.left == len(j.worlds) {
		j.end()
	}
}

// end wakes the ranks that wait in fence. mu is held.
func (j *localJob) end() {
	if !j.closed {
		j.closed = true
		close(j.over)
	}
}

// close closes the Worlds that were made, and returns the result of the job.
func (j *localJob) close() error {
	j.mu.Lock()
	j.end()
	first := j.first
	j.mu.Unlock()
	var errs []error
	for _, w := range j.worlds {
		if w == nil {
			continue
		}
		if err := w.Close(); err != nil {
			errs = append(errs, &RankError{Rank: w.Rank(), Err: err})
		}
	}
	if first != nil {
		return first // errors of closing are consequences of the failure
	}
	return joinErrors(errs...)
}

// joinErrors joins errors. If only one of them is not nil, it returns that error itself.
func joinErrors(errs ...error) error {
	errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil })
	if len(errs) == 1 {
		return errs[0]
	}
	return errors.Join(errs...)
}
