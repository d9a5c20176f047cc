// Package localjob runs the ranks of a runtime.Local over a network of the caller, which is the
// simulator. It is a package of its own because the API of package runtime is for every program,
// and the internal packages of runtime cannot be imported from elsewhere.
package localjob

import (
	"context"

	"github.com/gorun-hpc/gorun/transport"
)

// Network connects the ranks of one process in place of shared memory. Each rank is a
// node of its own then.
type Network interface {
	// Transport is what the engine of a rank polls. It is closed with the rank's World.
	Transport(rank int) Transport
	// Sleeper is what the goroutines of a rank sleep on.
	Sleeper(rank int) transport.Sleeper
	// Explain describes the way from a rank to a peer in one line.
	Explain(rank, peer int) string
}

// Transport is one rank's side of a Network.
type Transport interface {
	transport.Transport
	// Abandon is Close of a rank that leaves its generation of the job, without waiting for the others.
	Abandon() error
}

// Launcher carries what ranks and the launcher of a job say to each other, in the order of each
// rank's calls.
type Launcher interface {
	// Up calls arrive when the launcher receives something of a rank, Down when the rank receives
	// something of the launcher, each on a goroutine of its own.
	Up(rank int, arrive func())
	Down(rank int, arrive func())
}

// Config describes a job. A waiting goroutine polls a few times before it sleeps.
type Config struct {
	// Ranks is the number of ranks.
	Ranks int
	// Network connects them.
	Network Network
	// Budget is a rank's memory in bytes for unexpected messages; 0 means the default.
	Budget int64
	// Launcher is the way to what stands for the launcher, nil if that is none: then nobody but
	// the Network reports the end of a rank of a Network.
	Launcher Launcher
	// Restarts is how often a rank that was killed, or panics, is started again, all ranks together, as with gorun -on-failure
	// respawn=N; 0 for never.
	Restarts int
	// Next returns the network of a generation of the job, from 1 on; nil if Network is. Network is that
	// of generation 0.
	Next func(generation int) Network
	// Main is the program of each rank, called at each start of one. world is its *runtime.World.
	Main func(world any) error
}

// Job is a job under way.
type Job interface {
	// Wait returns when all ranks have returned. Its error is the first failure, as that of
	// runtime.LocalContext: a *RankError, or a *HangError after the end of ctx. The failure of a killed rank does
	// not count. The job ends with ctx.
	Wait(ctx context.Context) error
	// Report says what all ranks are doing.
	Report() string
	// Kill ends the operations of one rank with cause, and no rank waits for it at the end. The
	// network reports the loss to the others, and so does the Launcher; without a Network that is
	// this process. It returns false and does nothing if the rank has
	// left its program, or, where ranks are started again, the job.
	Kill(rank int, cause error) bool
}

// Start begins a job. Package runtime sets it.
var Start func(Config) (Job, error)
