package runtime

import (
	"github.com/gorun-hpc/gorun/bootstrap"
	"github.com/gorun-hpc/gorun/internal/localjob"
	"github.com/gorun-hpc/gorun/runtime/internal/engine"
	"github.com/gorun-hpc/gorun/transport"
)

func init() {
	localjob.Start = func(c localjob.Config) (localjob.Job, error) {
		j, err := newLocalJob(c.Ranks, engine.WaitPolicy{}, c)
		if err != nil {
			return nil, err
		}
		j.start(func(w *World) error { return c.Main(w) })
		return j, nil
	}
}

var _ localjob.Job = (*localJob)(nil)

// isSimulated reports whether the job brought a network of its own. A process of its own
// has no localJob.
func (j *localJob) isSimulated() bool { return j != nil && j.simulated.Network != nil }

// budget is engine.Config.UnexpectedBudget, 0 for the default.
func (j *localJob) budget() int64 {
	if j == nil {
		return 0
	}
	return j.simulated.Budget
}

// network is that of the ranks of a generation.
func (j *localJob) network(generation int) localjob.Network {
	if j.restarts == nil {
		return j.simulated.Network
	}
	return j.restarts.place(generation).network
}

// Kill implements localjob.Job.
func (j *localJob) Kill(rank int, cause error) bool {
	if j.restarts != nil {
		return j.restarts.kill(rank, cause)
	}
	j.mu.Lock()
	w := j.worlds[rank]
	if j.closed || j.dead[rank] || w.leaving.Load() {
		j.mu.Unlock()
		return false
	}
	j.dead[rank] = true
	j.leave()
	j.mu.Unlock()
	w.engine.Abort(cause)
	if !j.isSimulated() || j.simulated.Launcher != nil {
		j.council.died(rank, cause)
	}
	return true
}

// isSilent reports whether the launcher receives nothing of a rank: the rank was killed, or a job
// that is simulated has none.
func (j *localJob) isSilent(rank int) bool {
	return j.isDead(rank) || j.isSimulated() && j.simulated.Launcher == nil
}

// isDead reports whether a rank was killed.
func (j *localJob) isDead(rank int) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.dead[rank]
}

// simulatedFabric is one rank's side of a localjob.Network.
type simulatedFabric struct {
	network   localjob.Network
	rank      int
	transport localjob.Transport
}

var _ fabric = (*simulatedFabric)(nil)

func newSimulatedFabric(n localjob.Network, rank int) *simulatedFabric {
	return &simulatedFabric{network: n, rank: rank, transport: n.Transport(rank)}
}

func (f *simulatedFabric) way() transport.Transport { return f.transport }
func (f *simulatedFabric) fill(*bootstrap.Card)     {}
func (f *simulatedFabric) Known(int) bool           { return true }

// abandon implements what network.abandon asks for.
func (f *simulatedFabric) abandon() error { return f.transport.Abandon() }

func (f *simulatedFabric) Explain(peer int) string { return f.network.Explain(f.rank, peer) }
