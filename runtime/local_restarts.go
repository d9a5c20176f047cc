package runtime

import (
	"errors"
	"fmt"
	"sync"

	"github.com/gorun-hpc/gorun/bootstrap"
	"github.com/gorun-hpc/gorun/internal/localjob"
	"github.com/gorun-hpc/gorun/runtime/internal/engine"
	"github.com/gorun-hpc/gorun/transport/shm"
)

// restarts starts lost ranks of a Local again, as gorun -on-failure respawn does with processes. It
// uses the launcher's bootstrap.Server unchanged, with a Session for each process. Here, a process
// is a rank from one of its starts to the end that follows. A wire connects a process with the Server.
// A loss is handled in three places:
//
//	die        closes the wire of the process and ends its operations
//	serve      handles all that the process had sent, and calls ended. ended begins a generation
//	           in which the rank is started again
//	survivors  run World.Resume, as ranks that are processes do
type restarts struct {
	job    *localJob
	server *bootstrap.Server
	main   func(*World) error

	// mu guards the fields below it. The Server's lock may be taken while mu is held.
	mu        sync.Mutex
	left      int             // how many restarts the job still has
	starts    []int           // by rank: the number of starts before the newest start
	places    []place         // by generation; node is nil if no process can enter the generation any more
	processes []*localProcess // the newest process of each rank
	ends      []*wire         // the launcher's ends of the wires to all processes
	over      bool            // the job has failed
}

// place is the memory and the network through which the ranks of a generation communicate.
type place struct {
	node    *shm.Node
	network localjob.Network // nil: shared memory only
}

// localProcess is a rank of a Local from one of its starts to the end that follows.
type localProcess struct {
	of      *restarts
	rank    int
	session *bootstrap.Session
	wire    *wire

	// restarts.mu guards the fields below it.
	world *World // the newest World, nil before the first
	cause error  // why the process was killed, nil if it was not killed
	gone  bool   // the process has left the job
}

// newRestarts returns the restarts of a job. node is the memory of generation 0.
func newRestarts(j *localJob, node *shm.Node, size int) *restarts {
	return &restarts{
		job: j, server: bootstrap.NewServer(size, func(bootstrap.Event) {}), left: j.simulated.Restarts,
		starts: make([]int, size), places: []place{{node, j.simulated.Network}}, processes: make([]*localProcess, size),
	}
}

// launch starts main on all ranks.
func (l *restarts) launch(main func(*World) error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.main = main
	for rank := range l.processes {
		l.start(rank)
	}
}

// start starts a process of a rank in the newest generation. mu is held.
func (l *restarts) start(rank int) {
	direct := func(arrive func()) { arrive() }
	up, down := direct, direct
	if launcher := l.job.simulated.Launcher; launcher != nil {
		up = func(arrive func()) { launcher.Up(rank, arrive) }
		down = func(arrive func()) { launcher.Down(rank, arrive) }
	}
	p := &localProcess{of: l, rank: rank}
	var end *wire
	p.wire, end = newWires(up, down)
	p.session = bootstrap.Attach(l.describe(rank), p.wire, nil, l.job.secret)
	l.processes[rank], l.ends = p, append(l.ends, end)
	l.job.running.Go(func() { l.serve(p, end) })
	l.job.running.Go(p.live)
}

// describe returns the bootstrap.Job of a rank in the newest generation. mu is held.
func (l *restarts) describe(rank int) bootstrap.Job {
	size := len(l.processes)
	return bootstrap.Job{
		Rank: rank, Size: size, LocalRank: rank, LocalSize: size, Nodes: 1, Processors: l.job.processors, ID: "local",
		Epoch: l.starts[rank], Generation: len(l.places) - 1, OnFailure: bootstrap.OnFailureRespawn,
	}
}

// place returns the place of a generation.
func (l *restarts) place(generation int) place {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.places[generation]
}

// serve serves the frames of a process until the wire ends, and then handles the end of the
// process.
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

// ended handles the end of a process. An error ends the job.
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

// renew begins a generation in which the rank of a process is started again. If other ranks may
// already be leaving the job, the rank is not started again. mu is held.
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
		return p.lateFailure()
	}
	l.left--
	l.start(p.rank)
	l.dropNodes()
	return nil
}

// dropNodes drops the memory of the generations that no process can enter any more. mu is held.
func (l *restarts) dropNodes() {
	oldest := len(l.places) - 1
	for _, p := range l.processes {
		oldest = min(oldest, p.session.Job().Generation)
	}
	for i := range l.places[:oldest] {
		l.places[i].node = nil
	}
}

// lateFailure returns the error of the job if the process is lost after World.Resume has ended at all ranks. A panic
// is still a failure of the program. A kill comes from the test and is not an error.
func (p *localProcess) lateFailure() error {
	if panicked, ok := errors.AsType[*PanicError](p.cause); ok {
		return fmt.Errorf("after World.Resume has ended at all ranks: %w", panicked)
	}
	return nil
}

// kill kills the newest process of a rank, and reports whether it has done so (see die).
func (l *restarts) kill(rank int, cause error) bool {
	l.mu.Lock()
	p := l.processes[rank]
	l.mu.Unlock()
	return p != nil && p.die(cause)
}

// cut closes the wires to all processes after the job has failed.
func (l *restarts) cut() {
	l.mu.Lock()
	l.over = true
	ends := l.ends
	l.mu.Unlock()
	for _, end := range ends {
		_ = end.Close()
	}
}

// worlds returns the newest World of each rank that has one.
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

// live runs the program of the rank, as Main does in a process.
func (p *localProcess) live() {
	w, err := begin(p.session, p)
	defer func() { p.leave(w) }() // deferred, because it must run after runtime.Goexit, too
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

// leave abandons the newest World of the process and closes its wire. w is the first World of the
// process, or nil.
func (p *localProcess) leave(w *World) {
	if w != nil {
		_ = w.last().abandon() // after Close, abandon has nothing to do
	}
	p.of.mu.Lock()
	p.gone = true
	p.of.mu.Unlock()
	_ = p.wire.Close()
}

// fail handles the failure of the process. After a panic the rank is lost, as a real process would
// be. An error ends the job. runtime.Goexit also ends the job: a failed test ends its goroutine by
// Goexit, and would fail again after a restart. The result of a process that was killed is ignored.
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

// die kills the process, and reports whether it has done so. It does nothing if the process was killed
// before or has left the job, or if the job has failed.
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

// surroundings holds what a process needs to make the World of a generation.
type surroundings struct {
	node  *shm.Node
	wait  engine.WaitPolicy
	local *localJob // nil for a rank that is a process of its own
}

// surroundings returns the surroundings in the session's generation. p is nil for a rank that is a
// process of its own.
func (p *localProcess) surroundings(session *bootstrap.Session) (s surroundings, err error) {
	job := session.Job()
	if p != nil {
		s = surroundings{p.of.place(job.Generation).node, p.of.job.wait, p.of.job}
		if s.node == nil { // the process was killed, and the other ranks are in later generations
			err = ErrAborted
		}
		return s, err
	}
	if s.wait, err = processWait(job); err == nil {
		s.node, err = openNode(session)
	}
	return s, err
}

// entered records the newest World of the process. If the process was killed before, entered aborts
// that World.
func (p *localProcess) entered(w *World) {
	p.of.mu.Lock()
	p.world = w
	cause := p.cause
	p.of.mu.Unlock()
	if cause != nil {
		w.engine.Abort(cause)
	}
}
