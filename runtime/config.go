package runtime

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/gorun-hpc/gorun/bootstrap"
	"github.com/gorun-hpc/gorun/internal/toggle"
	"github.com/gorun-hpc/gorun/runtime/internal/engine"
)

// Environment variables that tune, check or explain a rank. The defaults of the variables that tune a
// rank were chosen by measurement.
const (
	// envCMA set to 0 forbids copies by process_vm_readv.
	envCMA = "GORUN_CMA"
	// envCRC set to 0 at both sides omits the CRC of TCP connections. 1 adds the CRC in a job on one node, which
	// has none by default.
	envCRC = "GORUN_CRC"
	// envCompress set to 0 disables compression of payload to other nodes. If it is not set, payload
	// is compressed over slow links.
	envCompress = "GORUN_COMPRESS"
	// envNetTimeout is a duration: how long data sent to another node may stay unacknowledged, or wait
	// for a rank that does not read, before the connection is made again.
	envNetTimeout = "GORUN_NET_TIMEOUT"
	// envNetIdle is a duration: how long a connection between nodes stays open without traffic. The
	// connection is made again for the next message. 0 means that it stays open for ever.
	envNetIdle = "GORUN_NET_IDLE"
	// envNetGiveUp is a duration: how long a rank tries to connect to a rank of another node before
	// that rank counts as lost. 0 means the default.
	envNetGiveUp = "GORUN_NET_GIVEUP"
	// envRDMALibrary set to 1 makes libibverbs drive the adapters siw and rxe, too.
	envRDMALibrary = "GORUN_RDMA_LIBRARY"
	// envDebug set to 1 has an effect if ranks are processes: an access to memory that was given away or freed faults.
	envDebug = "GORUN_DEBUG"
	// envCheck set to 1 makes ranks check how the program uses this package, see CheckError.
	envCheck = "GORUN_CHECK"
	// envExplain set to 1 makes World.Close print how this rank reaches its peers.
	envExplain = "GORUN_EXPLAIN"
	// envSpin and envYield are durations, see engine.WaitPolicy.
	envSpin  = "GORUN_SPIN"
	envYield = "GORUN_YIELD"
)

// How long a waiting rank polls before it sleeps. The values were chosen by measurements with 16 ranks on two
// processors. On these processors, a rank that spins delays each message by a time slice. If a rank
// yields for a shorter time than all other ranks need to run once, the rank goes to sleep for each
// message.
const (
	// spinAlone is the time for which a rank with a processor of its own spins.
	spinAlone = 50 * time.Microsecond
	// yieldPerShare, multiplied by the number of ranks per processor (rounded up), is the time for which a rank yields.
	yieldPerShare = 100 * time.Microsecond
	// yieldLocal is the time for which ranks of one process yield. It is short because they sleep
	// and wake at low cost.
	yieldLocal = 20 * time.Microsecond
)

// settings are the values of the variables that switch something on or off, and of some that configure the network.
type settings struct {
	cma, crc, compress, rdmaLibrary, debug, check, explain bool

	netTimeout, netIdle, netGiveUp time.Duration
	encrypt                        string
}

// readSettings reads the variables of settings once, when a World begins, so that a wrong value is an
// error even if the rank never uses the variable. nodes is the number of nodes of the job. In a job
// on one node, the bytes of a TCP connection never leave the memory of the host, so they need no CRC.
func readSettings(nodes int) (settings, error) {
	s := settings{cma: true, crc: nodes > 1, compress: true}
	for _, v := range []struct {
		name  string
		value *bool
	}{
		{envCMA, &s.cma},
		{envCRC, &s.crc},
		{envCompress, &s.compress},
		{envRDMALibrary, &s.rdmaLibrary},
		{envDebug, &s.debug},
		{envCheck, &s.check},
		{envExplain, &s.explain},
	} {
		var err error
		if *v.value, err = toggle.Of(v.name, *v.value); err != nil {
			return s, err
		}
	}
	var err error
	s.encrypt, err = encryption()
	return s, errors.Join(err, setDuration(&s.netTimeout, envNetTimeout), setDuration(&s.netIdle, envNetIdle), setDuration(&s.netGiveUp, envNetGiveUp))
}

// encryption returns the value of bootstrap.EnvEncrypt, or auto if the variable is not set.
func encryption() (string, error) {
	switch v := os.Getenv(bootstrap.EnvEncrypt); v {
	case "":
		return bootstrap.EncryptAuto, nil
	case bootstrap.EncryptYes, bootstrap.EncryptNo, bootstrap.EncryptAuto:
		return v, nil
	default:
		return "", fmt.Errorf("bad %s: %q is none of %s, %s and %s",
			bootstrap.EnvEncrypt, v, bootstrap.EncryptYes, bootstrap.EncryptNo, bootstrap.EncryptAuto)
	}
}

// processWait returns the wait policy of a rank that is a process.
func processWait(job bootstrap.Job) (engine.WaitPolicy, error) {
	share := (job.LocalSize + job.Processors - 1) / max(1, job.Processors)
	wait := engine.WaitPolicy{Yield: yieldPerShare * time.Duration(max(1, share))}
	if share <= 1 {
		wait.Spin = spinAlone
	}
	return tuned(wait)
}

// tuned returns the policy with the durations that the environment sets.
func tuned(wait engine.WaitPolicy) (engine.WaitPolicy, error) {
	err := errors.Join(setDuration(&wait.Spin, envSpin), setDuration(&wait.Yield, envYield))
	return wait, err
}

// setDuration sets d to the value of an environment variable, if the variable is set.
func setDuration(d *time.Duration, name string) error {
	text := os.Getenv(name)
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
