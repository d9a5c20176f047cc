package runtime

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/gorun-hpc/gorun/bootstrap"
	"github.com/gorun-hpc/gorun/runtime/internal/engine"
)

// Environment variables that tune a rank. They are for experiments: the defaults
// are measured.
const (
	// envCMA set to 0 forbids process_vm_readv.
	envCMA = "GORUN_CMA"
	// envCRC set to 0 omits checksums between nodes if both sides agree.
	envCRC = "GORUN_CRC"
	// envCompress set to 0 sends payload to other nodes as it is over slow links, too.
	envCompress = "GORUN_COMPRESS"
	// envNetTimeout is a duration: how long what was sent to another node may stay
	// unacknowledged before its connection is made again.
	envNetTimeout = "GORUN_NET_TIMEOUT"
	// envNetIdle is a duration: how long a connection between nodes stays without
	// traffic. It is made again for the next message. 0 stands for ever.
	envNetIdle = "GORUN_NET_IDLE"
	// envNetGiveUp is a duration: for how long a connection to a rank of another node is
	// attempted before that rank counts as lost. 0 stands for the default.
	envNetGiveUp = "GORUN_NET_GIVEUP"
	// envRDMALibrary set to 1 has libibverbs drive siw and rxe, too.
	envRDMALibrary = "GORUN_RDMA_LIBRARY"
	// envDebug set to 1 makes the use of memory that was given away fault.
	envDebug = "GORUN_DEBUG"
	// envCheck set to 1 looks for mistakes in the use of this package, see CheckError.
	envCheck = "GORUN_CHECK"
	// envExplain set to 1 makes World.Close print the ways to the peers.
	envExplain = "GORUN_EXPLAIN"
	// envSpin and envYield are durations, see engine.WaitPolicy.
	envSpin  = "GORUN_SPIN"
	envYield = "GORUN_YIELD"
)

// How long a rank polls before it sleeps. Measured with 16 ranks on two processors: any
// spinning costs a time slice per hop. A rank that yields for less time than the others
// need to run once costs a sleep per hop.
const (
	// spinAlone is for ranks that have a processor each.
	spinAlone = 50 * time.Microsecond
	// yieldPerShare is for each rank that shares a processor.
	yieldPerShare = 100 * time.Microsecond
	// yieldLocal is for ranks of one process, which sleep and wake cheaply.
	yieldLocal = 20 * time.Microsecond
)

// setting returns an environment variable.
func setting(name string) string { return os.Getenv(name) }

// processWait is the wait policy of a rank that is a process.
func processWait(job bootstrap.Job) (engine.WaitPolicy, error) {
	share := (job.LocalSize + job.Processors - 1) / max(1, job.Processors)
	wait := engine.WaitPolicy{Yield: yieldPerShare * time.Duration(max(1, share))}
	if share <= 1 {
		wait.Spin = spinAlone
	}
	return tuned(wait)
}

// localWait is the wait policy of a rank that is a goroutine: spinning would keep
// the others of its process from running.
func localWait() (engine.WaitPolicy, error) {
	return tuned(engine.WaitPolicy{Yield: yieldLocal})
}

// tuned applies the environment.
func tuned(wait engine.WaitPolicy) (engine.WaitPolicy, error) {
	err := errors.Join(setDuration(&wait.Spin, envSpin), setDuration(&wait.Yield, envYield))
	return wait, err
}

// setDuration sets d to what an environment variable says, if it says anything.
func setDuration(d *time.Duration, name string) error {
	text := setting(name)
	if text == "" {
		return nil
	}
	v, err := time.ParseDuration(text)
	if err != nil || v < 0 {
		return fmt.Errorf("bad %s: %q is not a duration such as 50us", name, text)
	}
	*d = v
	return nil
}
