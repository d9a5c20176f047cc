package runtime

import (
	"errors"
	"fmt"
	goruntime "runtime"
	"sync"

	"github.com/gorun-hpc/gorun/bootstrap"
	"github.com/gorun-hpc/gorun/internal/localjob"
	"github.com/gorun-hpc/gorun/runtime/internal/engine"
	"github.com/gorun-hpc/gorun/transport/shm"
)

// restarts stands for gorun -on-failure respawn in a job whose ranks are goroutines: the launcher's
// Server as it is, with a Session for each process. A process is a rank from one start to its end.
//
//	killed:   its wire is closed, its operations end
//	served:   all that it had sent has been taken; the Server begins a generation, in which the rank is
//	          started again
//	survivor: World.Resume, as in a process of its own
type restarts struct {
	job    *localJob
	server *bootstrap.Server
	main   func(*World) error

	// mu guards what follows. The Server's lock may be taken under it.
	mu        sync.Mutex
	left      int             // how many restarts the job still has
	starts    []int           // of each rank before
	places    []place         // of the generations
	processes []*localProcess // the newest of each rank
	ends      []*wire         // of the launcher, to all processes
	over      bool            // the job has failed
}

// place is where the ranks of a generation meet.
type place struct {
	node    *shm.Node
	network localjob.Network // nil for shared memory
}

// localProcess is a rank of a Local from one start to its end.
type localProcess struct {
	of      *restarts
	rank    int
	session *bootstrap.Session
	wire    *wire

	// What follows is guarded by the lock of restarts.
	world *World // the newest, nil before the first
	cause error  // of its death, nil while it lives
	gone  bool   // it has left the job
}

// newRestarts returns the launcher of a job that has made its first node.
func newRestarts(j *localJob, size int) *restarts {
	return &restarts{
		job: j, server: bootstrap.NewServer(size, func(bootstrap.Event) {}), left: j.simulated.Restarts,
		starts: make([]int, size), places: []place{{j.node, j.simulated.Network}}, processes: make([]*localProcess, size),
	}
}

// launch starts all ranks.
func (l *restarts) launch(main func(*World) error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.main = main
	for rank := range l.processes {
		l.start(rank)
	}
}

// start starts a rank in the newest generation. mu is held.
func (l *restarts) start(rank int) {
	direct := func(arrive func()) { arrive() }
	up, down := direct, direct
	if way := l.job.simulated.Launcher; way != nil {
		up = func(arrive func()) { way.Up(rank, arrive) }
		down = func(arrive func()) { way.Down(rank, arrive) }
	}
	p := &localProcess{of: l, rank: rank}
	var end *wire
	p.wire, end = newWires(up, down)
	p.session = bootstrap.Attach(l.describe(rank), p.wire, nil, l.job.secret)
	l.processes[rank], l.ends = p, append(l.ends, end)
	l.job.running.Go(func() { l.serve(p, end) })
	l.job.running.Go(p.live)
}

// describe is a rank's identity in the newest generation. mu is held.
func (l *restarts) describe(rank int) bootstrap.Job {
	size := len(l.processes)
	return bootstrap.Job{
		Rank: rank, Size: size, LocalRank: rank, LocalSize: size, Nodes: 1, Processors: goruntime.GOMAXPROCS(0), ID: "local",
		Epoch: l.starts[rank], Generation: len(l.places) - 1, OnFailure: bootstrap.OnFailureRespawn,
	}
}

// place returns where the ranks of a generation meet.
func (l *restarts) place(generation int) place {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.places[generation]
}

// serve serves a process until its end, and acts on that.
func (l *restarts) serve(p *localProcess, end *wire) {
	err := l.server.Serve(p.rank, end)
	_ = end.Close()
	if err == nil {
		err = l.ended(p)
	}
	if err != nil {
		l.job.fail(p.rank, err)
	}
}

// ended acts on the end of a process. An error is that of the job.
func (l *restarts) ended(p *localProcess) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.over:
		return nil
	case p.cause == nil:
		l.server.Gone(p.rank, "has ended")
		return nil
	case l.left == 0 && l.server.Renewable(p.rank):
		return fmt.Errorf("after %d restarts of the job: %w", l.job.simulated.Restarts, p.cause)
	}
	return l.renew(p)
}

// renew begins a generation in which the rank of a process is started again. If the others may be
// leaving the job already, the rank is lost for good. mu is held.
func (l *restarts) renew(p *localProcess) error {
	node, err := shm.NewLocalNode(len(l.processes))
	if err != nil {
		return err
	}
	next := place{node: node}
	if l.job.isSimulated() {
		next.network = l.job.simulated.Next(len(l.places))
	}
	l.places = append(l.places, next)
	l.starts[p.rank]++
	begun, err := l.server.Renew(bootstrap.Next{Lost: []int{p.rank}, Cause: p.cause.Error(), Describe: l.describe})
	if err != nil {
		return fmt.Errorf("%w; it was not started again: %w", p.cause, err)
	}
	if !begun {
		l.places, l.starts[p.rank] = l.places[:len(l.places)-1], l.starts[p.rank]-1
		l.server.Gone(p.rank, p.cause.Error())
		return errors.Join(p.lateFailure(), node.Close())
	}
	l.left--
	l.start(p.rank)
	return nil
}

// lateFailure is the error of a job whose ranks have all ended World.Resume when this one is lost: a panic is a
// failure of the program still, and a kill, which is the test's, is none.
func (p *localProcess) lateFailure() error {
	if panicked, ok := errors.AsType[*PanicError](p.cause); ok {
		return fmt.Errorf("after World.Resume has ended at all ranks: %w", panicked)
	}
	return nil
}

// kill ends the newest process of a rank, and reports whether there was one.
func (l *restarts) kill(rank int, cause error) bool {
	l.mu.Lock()
	p := l.processes[rank]
	l.mu.Unlock()
	return p != nil && p.die(cause)
}

// cut ends all processes after the job has failed.
func (l *restarts) cut() {
	l.mu.Lock()
	l.over = true
	ends := l.ends
	l.mu.Unlock()
	for _, end := range ends {
		_ = end.Close()
	}
}

// worlds are the newest ones of the ranks that have one.
func (l *restarts) worlds() (list []*World) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range l.processes {
		if p.world != nil {
			list = append(list, p.world)
		}
	}
	return list
}

// close unmaps the memory of all generations. No process is left.
func (l *restarts) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	errs := make([]error, 0, len(l.places))
	for _, p := range l.places[1:] { // the first is the job's own
		errs = append(errs, p.node.Close())
	}
	return errors.Join(errs...)
}

// live runs the program of the rank, as Main does in a process.
func (p *localProcess) live() {
	w, err := begin(p.session, p)
	defer func() { p.leave(w) }() // after runtime.Goexit, too
	if err == nil {
		err = w.guard(func() error { return p.of.main(w) })
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		p.fail(err)
	}
}

// leave gives back what the process had. w is its first World, nil for none.
func (p *localProcess) leave(w *World) {
	if w != nil {
		_ = w.last().abandon() // nothing is left to do if it was closed
	}
	p.of.mu.Lock()
	p.gone = true
	p.of.mu.Unlock()
	_ = p.wire.Close()
}

// fail is the failure of the process: with a panic it is lost, as its process would be, and with an error
// it ends the job, as with runtime.Goexit: a test that has failed fails again. What a process that was killed
// returns does not count.
func (p *localProcess) fail(why error) {
	var panicked *PanicError
	switch {
	case errors.As(why, &panicked):
		p.die(why)
	case p.alive():
		p.of.job.fail(p.rank, why)
	}
}

// alive reports whether the process was not killed.
func (p *localProcess) alive() bool {
	p.of.mu.Lock()
	defer p.of.mu.Unlock()
	return p.cause == nil
}

// die kills the process, and reports whether it has lived.
func (p *localProcess) die(cause error) bool {
	p.of.mu.Lock()
	if p.cause != nil || p.gone || p.of.over {
		p.of.mu.Unlock()
		return false
	}
	p.cause = cause
	w := p.world
	p.of.mu.Unlock()
	_ = p.wire.Close()
	if w != nil {
		w.engine.Abort(cause)
	}
	return true
}

// surroundings is what a process makes its Worlds of.
type surroundings struct {
	node  *shm.Node
	wait  engine.WaitPolicy
	local *localJob // nil in a process of its own
}

// surroundings are those of the session's generation. p is nil in a process of its own.
func (p *localProcess) surroundings(session *bootstrap.Session) (s surroundings, err error) {
	job := session.Job()
	if p != nil {
		return surroundings{p.of.place(job.Generation).node, p.of.job.wait, p.of.job}, nil
	}
	if s.wait, err = processWait(job); err == nil {
		s.node, err = openNode(session)
	}
	return s, err
}

// entered takes note of a World of the process. One that has come after the death of its process ends.
func (p *localProcess) entered(w *World) {
	p.of.mu.Lock()
	p.world = w
	cause := p.cause
	p.of.mu.Unlock()
	if cause != nil {
		w.engine.Abort(cause)
	}
}
