package runtime

import (
	"context"
	"errors"
	"fmt"
	"os"
	goruntime "runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorun-hpc/gorun/bootstrap"
	"github.com/gorun-hpc/gorun/internal/affinity"
	"github.com/gorun-hpc/gorun/internal/callsite"
	"github.com/gorun-hpc/gorun/internal/flight"
	"github.com/gorun-hpc/gorun/internal/journal"
	"github.com/gorun-hpc/gorun/runtime/internal/engine"
	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/shm"
)

// World is one rank's membership in a job. Its methods may be called from any
// goroutine.
type World struct {
	job    bootstrap.Job
	engine *engine.Engine
	shm    *shm.Transport
	// sleeper is the Sleeper on which the goroutines of this rank sleep.
	sleeper transport.Sleeper
	// network connects the rank with the ranks of other nodes.
	network network
	comm    *Comm
	comms   comms
	memory  *memory
	// tasks counts the tasks that newTask has made.
	tasks atomic.Uint32
	// streams counts the streams that the rank sends.
	streams atomic.Uint32
	// book has the cards of all ranks. It is nil before they have arrived, in a job of one node, and in a Local
	// without restarts.
	book atomic.Pointer[bootstrap.Book]
	// session connects the rank with the agent of its node or with what takes the agent's place: rank 0 under
	// another launcher, or localJob.restarts in LocalRespawn. If no launcher has started the process, session has
	// no connection. It is nil in a Local without restarts.
	session *bootstrap.Session
	// local is the job of a rank of Local, nil for a rank that is a process. life is the
	// localProcess of a rank of LocalRespawn, else nil.
	local *localJob
	life  *localProcess
	// council sends votes and revocations to the launcher, or takes its place (localCouncil). deaths holds
	// the losses of other ranks that this rank knows of. rulings are the calls of Agree and Shrink that wait for a
	// decision.
	council council
	deaths  deaths
	rulings rulings
	// revocations are the revocations that the launcher has reported and that are still pending.
	revocations revocations
	// role is how this rank has come into the World. line is the state that all Worlds of this process
	// share. The flag over is true after the World has ended with the loss of a rank. resumed is true
	// after Resume was called.
	role    Role
	line    *lineage
	over    atomic.Bool
	resumed atomic.Bool

	// inquiries are this rank's questions to other ranks that are under way. questions are the
	// questions of other ranks that this rank has not answered yet.
	inquiries inquiries
	questions questions

	// actors holds the value that package actors attaches to the World.
	actors kept

	closing  sync.Once
	closeErr error
	// leaving is true once Close was called. Close waits for the other ranks.
	leaving atomic.Bool
	stalls  stalls
	// asked is the time when the node agent last asked for a report. Only the goroutine of listen uses it.
	asked time.Time
	// stop ends the goroutine of listen, which handles signals and notices, and writes the remaining reports.
	stop func()
	// check finds mistakes of the program; nil without GORUN_CHECK=1.
	check    *check
	settings settings
	// reports writes the rank's reports to standard error.
	reports *journal.Journal
}

// newWorld makes the World of a rank and connects the rank with the other ranks of its node. peers are
// the world ranks of the ranks of the node. peers is nil if each rank's local rank is its world rank.
// secret is the secret of the job. local is the job of a rank of Local, else nil.
func newWorld(job bootstrap.Job, node *shm.Node, peers []int, wait engine.WaitPolicy, secret [32]byte, local *localJob) (*World, error) {
	set, err := readSettings(job.Nodes)
	if err != nil {
		return nil, err
	}
	w := &World{job: job, local: local, stop: func() {}, reports: newReports(), check: newCheck(set.check), settings: set}
	t, err := shm.New(node, shm.Config{
		Rank: job.Rank, LocalRank: job.LocalRank, Peers: peers, DisableCMA: !set.cma,
		Alone:     node.Ranks() == 1 || forcesNetwork() || local.isSimulated(),
		Connected: job.Nodes > 1 && os.Getenv(bootstrap.EnvTransport) != transportShm,
	})
	if err != nil {
		return nil, err
	}
	w.shm, w.sleeper = t, t.Sleeper()
	if local.isSimulated() {
		w.sleeper = local.network(job.Generation).Sleeper(job.Rank)
	}
	if w.network, err = openNetwork(w, secret); err != nil {
		return nil, errors.Join(err, t.Close())
	}
	if w.network.forced {
		// Each rank is a node of its own, because shared memory is not used.
		w.job.Nodes, w.job.NodeRank = job.Size, job.Rank
	}
	t.Settle()
	w.memory = newMemory(t, w.network.arena(t.Arena()), job.Rank, !node.Local(), set.debug)
	w.engine, err = engine.New(engine.Config{
		Rank: job.Rank, Size: job.Size,
		Route:      w.route,
		Transports: w.transports(),
		Sleeper:    wordSleeper{w.sleeper, w.memory, w.home()},
		Wait:       wait,
		Allocate:   allocate,
		TypeName:   typeName,
		Member:     w.comms.member,
		Lost:       w.lost,
		Release:    w.memory.released,
		Notice:     w.takeNotice,
		Recorder:   flight.New(node.Record(job.LocalRank)),

		UnexpectedBudget: local.budget(),
	})
	if err != nil {
		return nil, errors.Join(err, w.network.close(), t.Close())
	}
	w.comm = newComm(w, 0, "world", identityOrder(job.Size), job.Rank)
	return w, nil
}

// home returns the Home of the rank. It returns nil if the rank is a goroutine, or if GOMAXPROCS is above 1, because
// other threads of the rank can then run beside the one that waits. It also returns nil if the node has only one
// processor, or enough processors for all its ranks.
func (w *World) home() *affinity.Home {
	if w.local != nil || goruntime.GOMAXPROCS(0) > 1 {
		return nil
	}
	return affinity.NewHome(w.job.LocalRank, w.job.LocalSize, w.job.Processors)
}

// Comm returns the communicator of all ranks.
func (w *World) Comm() *Comm { return w.comm }

// Rank returns the world rank of this rank, 0 to Size-1.
func (w *World) Rank() int { return w.job.Rank }

// Size returns the number of ranks of the job.
func (w *World) Size() int { return w.job.Size }

// LocalRank returns the number of this rank among the ranks of its node, 0 to LocalSize-1. With -transport
// rdma, where each rank is a node of its own, LocalRank and LocalSize still count all ranks on this machine.
func (w *World) LocalRank() int { return w.job.LocalRank }

// LocalSize returns the number of ranks on this rank's node (with -transport rdma, see LocalRank).
func (w *World) LocalSize() int { return w.job.LocalSize }

// NodeRank returns the number of this rank's node, 0 to Nodes-1.
func (w *World) NodeRank() int { return w.job.NodeRank }

// Nodes returns the number of nodes of the job.
func (w *World) Nodes() int { return w.job.Nodes }

// Processors returns the number of processors that the ranks of this node may use.
func (w *World) Processors() int { return w.job.Processors }

// String returns the rank and the size.
func (w *World) String() string { return fmt.Sprintf("rank %d of %d", w.job.Rank, w.job.Size) }

// Handled reports to gorun that the program has recovered from the loss of a rank. The argument is the Rank
// of a PeerError. With gorun -on-failure continue, the loss then does not affect gorun's exit code.
// One rank's call of Handled is enough. The exit code is 0 if, for every rank, the function of Main
// has returned nil or the loss was handled. The error is ErrRank if the World has no such rank.
func (w *World) Handled(rank int) error {
	switch {
	case rank < 0 || rank >= w.Size():
		return callsite.At(fmt.Errorf("%w: loss of rank %d of %d handled", ErrRank, rank, w.Size()))
	case w.session == nil:
		return nil // in Local, a failed rank ends the job
	}
	return w.session.Handled(rank)
}

// Abort ends the job with this exit code. If the rank is a process, Abort does not
// return. In Local it returns, and from then on the operations of all ranks end with
// ErrAborted.
func (w *World) Abort(code int) {
	reason := "World.Abort"
	stack := make([]uintptr, 16)
	if at := callerOf(stack[:goruntime.Callers(2, stack)]); at != "" {
		reason += " at " + at
	}
	w.abort(code, reason, &AbortError{Rank: w.Rank(), Code: code})
}

// abort is Abort with a reason, which gorun reports, and with the error of this rank's
// failure in Local.
func (w *World) abort(code int, reason string, why error) {
	if w.local != nil {
		w.failed(why)
		return
	}
	w.session.Abort(code, reason)
	os.Exit(code)
}

// Close leaves the job. It waits until every rank has called Close or was lost, because a peer may
// still read this rank's memory. In a Local, it also stops waiting when a rank has failed or the context.Context of
// LocalContext has ended. The World cannot be used afterwards. Main and Local call Close. A further
// call returns the result of the first call. After Resume, Close of any World of the process closes the
// newest World.
func (w *World) Close() error {
	w = w.last()
	w.closing.Do(func() { w.closeErr = w.leave() })
	return w.closeErr
}

// leave does the work of Close. It is called once. The engine continues to serve the peers until all
// ranks that live have called Close.
func (w *World) leave() error {
	var err error
	w.leaving.Store(true)
	if w.settings.explain {
		// After this fence every rank that lives has called Close, but none has left the job. Before
		// the end of this fence, other ranks may still use this rank's memory.
		if w.session != nil {
			err = w.session.Fence(context.Background())
		}
		w.explainTo(os.Stderr)
	}
	if w.session == nil {
		w.local.fence(w.Rank())
	} else {
		err = errors.Join(err, w.session.Fence(context.Background()))
	}
	err = errors.Join(err, w.findings(), w.comm.core.end(&commFailure{ErrClosed}))
	err = errors.Join(err, w.engine.Close())
	w.actors.end()
	err = errors.Join(err, w.network.close())
	w.engine.EndMoves()
	err = errors.Join(err, w.shm.Close())
	w.stop()
	if w.session != nil {
		err = errors.Join(err, w.session.Finalize())
	}
	return err
}

// wake wakes the waiting goroutines of this rank, so that they check their conditions again.
func (w *World) wake() { w.sleeper.Ring() }
