// Package localjob runs the ranks of a runtime.Local over a network that the caller provides. The caller is
// the simulator (package simulate). If the declarations of this package were in package runtime, they would be
// in the API of every program. If they were in an internal package of runtime, the simulator could not import
// them.
package localjob

import (
	"context"

	"github.com/gorun-hpc/gorun/transport"
)

// Network connects the ranks of one process, in place of shared memory. With a Network, each rank
// is a node of its own.
type Network interface {
	// Transport returns the transport that the engine of a rank polls. World.Close of the rank
	// closes it.
	Transport(rank int) Transport
	// Sleeper returns the Sleeper on which the goroutines of a rank sleep.
	Sleeper(rank int) transport.Sleeper
	// Explain describes the connection from a rank to a peer in one line.
	Explain(rank, peer int) string
}

// Transport is one rank's side of a Network.
type Transport interface {
	transport.Transport
	// Abandon closes the transport of a rank that leaves its generation of the job, without waiting
	// for its peers.
	Abandon() error
}

// Launcher delays the messages between ranks and the launcher of a job. It keeps the order of the
// calls for each rank.
type Launcher interface {
	// Up calls the function arrive when a message of the rank reaches the launcher. Down calls the function
	// arrive when a message of the launcher reaches the rank. Each call of arrive is on a goroutine of its
	// own.
	Up(rank int, arrive func())
	Down(rank int, arrive func())
}

// Config describes a job. In this job, a waiting goroutine polls a few times before it sleeps.
type Config struct {
	// Ranks is the number of ranks.
	Ranks int
	// Network connects the ranks in generation 0 of the job. If it is nil, they use shared memory.
	Network Network
	// Budget is the limit in bytes of a rank's memory for unexpected messages; 0 means the default.
	Budget int64
	// Launcher carries the messages between the ranks and the part of this process that acts as the launcher.
	// If Launcher is nil in a job with a Network and without Restarts, the job has no launcher. Then only the
	// Network reports the end of a rank.
	Launcher Launcher
	// Restarts is the number of restarts in the job, as with gorun -on-failure respawn=N. A rank that
	// was killed or has panicked is started again. 0 means none.
	Restarts int
	// Next returns the network of a generation of the job after generation 0. Next is nil if Network is nil.
	Next func(generation int) Network
	// Main is the program of a rank. It is called at each start of a rank; world is the *runtime.World
	// of that rank.
	Main func(world any) error
}

// Job is a job that was started.
type Job interface {
	// Wait returns when Main has returned at all ranks. Its error is the first failure of the job: a
	// *RankError or, after the end of ctx, a *HangError, as with runtime.LocalContext. An error that Main
	// returns at a killed rank does not count as a failure. The end of ctx ends the job.
	Wait(ctx context.Context) error
	// Report describes what each rank is doing.
	Report() string
	// Kill ends the operations of a rank with the error cause. The other ranks do not wait for this rank at
	// the end of the job. The Network and the Launcher report the loss to the other ranks. Without a Network,
	// this process reports the loss. Kill returns false and does nothing if the rank has left its program or,
	// with Restarts, the job.
	Kill(rank int, cause error) bool
}

// Start starts a job. Package runtime sets this variable.
var Start func(Config) (Job, error)
