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

// isSimulated reports whether the job has a network of its own (localjob.Network). j is nil for a
// rank that is a process.
func (j *localJob) isSimulated() bool { return j != nil && j.simulated.Network != nil }

// budget returns the engine.Config.UnexpectedBudget of the ranks, 0 for the default.
func (j *localJob) budget() int64 {
	if j == nil {
		return 0
	}
	return j.simulated.Budget
}

// network returns the network of the ranks in a generation.
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

// isSilent reports whether the council receives nothing from a rank: the rank was killed, or the job
// is simulated without a launcher.
func (j *localJob) isSilent(rank int) bool {
	return j.isDead(rank) || j.isSimulated() && j.simulated.Launcher == nil
}

// isDead reports whether a rank was killed.
func (j *localJob) isDead(rank int) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.dead[rank]
}

// simulatedFabric is the fabric of a rank of a localjob.Network.
type simulatedFabric struct {
	network localjob.Network
	rank    int
	lanes   localjob.Transport
}

var _ fabric = (*simulatedFabric)(nil)

func (f *simulatedFabric) polled() transport.Transport { return f.lanes }
func (f *simulatedFabric) fill(*bootstrap.Card)        {}
func (f *simulatedFabric) abandon() error              { return f.lanes.Abandon() }
func (f *simulatedFabric) Known(int) bool              { return true }
func (f *simulatedFabric) Explain(peer int) string     { return f.network.Explain(f.rank, peer) }
