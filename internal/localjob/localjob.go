// Package localjob runs the ranks of a runtime.Local over a network that the caller
// brings: the simulator's. It is a package of its own because what package runtime
// exports is for every program, and its internal packages are for those below it alone.
package localjob

import (
	"context"

	"github.com/gorun-hpc/gorun/transport"
)

// Network connects the ranks of one process in place of shared memory. Each rank is a
// node of its own then.
type Network interface {
	// Transport is what the engine of a rank polls. It is closed with the rank's World.
	Transport(rank int) transport.Transport
	// Sleeper is what the goroutines of a rank sleep on.
	Sleeper(rank int) transport.Sleeper
	// Explain describes the way from a rank to a peer in one line.
	Explain(rank, peer int) string
}

// Config describes a job. A waiting goroutine polls a few times before it sleeps.
type Config struct {
	// Ranks is the number of ranks.
	Ranks int
	// Network connects them.
	Network Network
	// Budget is a rank's memory in bytes for messages nobody asked for yet; 0 means the
	// default.
	Budget int64
	// Main is the program of each rank. world is its *runtime.World.
	Main func(world any) error
}

// Job is a job under way.
type Job interface {
	// Wait returns when all ranks have returned, with the failure that came first, as
	// runtime.LocalContext does; that of a killed rank is none. The job ends with ctx.
	Wait(ctx context.Context) error
	// Report says what all ranks are doing.
	Report() string
	// Kill ends the operations of one rank with cause, and has nobody wait for it. The
	// network has it that the others hear of the loss. It returns false, having done
	// nothing, when the rank has left its program.
	Kill(rank int, cause error) bool
}

// Start begins a job. Package runtime sets it.
var Start func(Config) (Job, error)
