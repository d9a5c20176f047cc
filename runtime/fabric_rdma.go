//go:build linux && !gorun_shm && !portable

package runtime

import (
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/gorun-hpc/gorun/bootstrap"
	"github.com/gorun-hpc/gorun/runtime/internal/port"
	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/rdma"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp"
	"github.com/gorun-hpc/gorun/transport/rdma/kernel"
	"github.com/gorun-hpc/gorun/transport/rdma/probe"
)

// rdmaFabric implements fabric by transport/rdma.
type rdmaFabric struct {
	*rdma.Transport
	iwarp   *iwarp.Provider // nil without TCP
	library bool            // libibverbs drives all adapters
}

var (
	_ fabric    = (*rdmaFabric)(nil)
	_ searcher  = (*rdmaFabric)(nil)
	_ actorHost = (*rdmaFabric)(nil)
)

// adapters returns the provider of the kernel's RDMA adapters.
func (f *rdmaFabric) adapters() *kernel.Provider {
	return kernel.New(kernel.Config{Library: f.library})
}

// packing returns the mode of compression of payload over TCP. If the argument allowed is false, compression is
// forbidden.
func packing(allowed bool) iwarp.Packing {
	if allowed {
		return iwarp.PackAuto
	}
	return iwarp.PackNever
}

// openFabric opens the rails and listens on them.
func (w *World) openFabric(forced bool, secret [32]byte) (fabric, error) {
	set := &w.settings
	log := func(line string) { fmt.Fprintf(os.Stderr, "rank %d: %s\n", w.job.Rank, line) }
	f := &rdmaFabric{library: set.rdmaLibrary}
	rails, missing, err := f.rails(w.job.Nodes == 1, w.job.LocalRank, iwarp.Config{NoCRC: !set.crc, UserTimeout: set.netTimeout, Packing: packing(set.compress), Log: log})
	if err != nil {
		return nil, err
	}
	var own transport.Arena
	if w.local == nil {
		own = w.shm.Arena()
	}
	f.Transport, err = rdma.New(rdma.Config{
		Rank: w.job.Rank, Size: w.job.Size, Incarnation: uint16(w.job.Epoch), Job: generationID(w.job), Secret: secret[:], Arena: own,
		Rails: rails, Missing: missing, NoCRC: !set.crc,
		ActorAddress: port.Address(w.job.Rank, uint32(w.job.Generation)), Lookup: w.locations, Sleeper: w.sleeper, Companion: !forced,
		Own: w.ownsAddress, Host: w.hostOf, Idle: set.netIdle, GiveUp: set.netGiveUp, Supervised: w.local == nil, Log: log,
	})
	if err == nil && set.encrypt == bootstrap.EncryptYes {
		err = f.Encrypt()
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

// generationID returns the job's name in the network. It differs between generations, so that ranks
// of different generations do not connect.
func generationID(j bootstrap.Job) string {
	if j.Generation == 0 {
		return j.ID
	}
	return fmt.Sprintf("%s.%d", j.ID, j.Generation)
}

// ownsAddress reports whether an address of a rank that does not map this rank's node memory is also an
// address of this host. For the other ranks of the node memory it returns false, even with -transport rdma.
func (w *World) ownsAddress(rank int, a netip.Addr) bool {
	return w.shm.Reach(rank) != nil && probe.System().Owns(a)
}

func (f *rdmaFabric) abandon() error                   { return f.Abandon() }
func (f *rdmaFabric) polled() transport.Transport      { return f.Transport }
func (f *rdmaFabric) actorSystem(log slog.Handler) any { return f.ActorSystem(log) }

func (f *rdmaFabric) actors() []port.Actor {
	connections := f.Actors()
	all := make([]port.Actor, 0, len(connections))
	for _, a := range connections {
		all = append(all, port.Actor{ID: a.ID, Kind: a.Kind, State: a.State})
	}
	return all
}

// arena returns the arena whose memory the adapters keep registered. If there is no such arena, it
// returns own. Ranks that share a process have no such arena, because their arenas are pieces of
// the heap, and adapters do not keep the heap registered.
func (f *rdmaFabric) arena(own transport.Arena) transport.Arena {
	if a := f.Arena(); a != nil {
		return a
	}
	return own
}

// devices returns lines about the drivers of the adapters of this host.
func (f *rdmaFabric) devices() []string { return f.adapters().Explain() }

// explain returns lines about how memory is registered, and about refused connections and requests.
func (f *rdmaFabric) explain() []string {
	var memory []string
	if line := f.ExplainMemory(); line != "" {
		memory = []string{line}
	}
	s, c := f.Strangers(), &iwarp.Counters{}
	if f.iwarp != nil {
		c = f.iwarp.Counters()
	}
	return slices.Concat(
		memory, tally("connections dropped", []tallied{
			{&c.HungUp, "closed by the peer before its request (as when two ranks connect to each other at the same time)"},
			{&c.Strangers, "with something else in place of a request"},
			{&c.Late, "without a request in time"},
			{&c.Crowded, "without a request, because too many were open"},
			{&c.Scarce, "because the process has no descriptors left"},
			{&c.Unsealed, "because their encryption was broken or cut short (as when a rank is killed)"},
		}), tally("requests refused", []tallied{
			{&s.OtherJob, "of another job"},
			{&s.Unproved, "without the job's secret"},
			{&s.Foreign, "without a record of this version"},
			{&s.Misplaced, "of ranks outside of the job"},
			{&s.Repeated, "of ranks, superseded by newer ones (as when two ranks connect to each other at the same time)"},
			{&s.Declined, "of ranks, which were told the reason"},
			{&c.Refused, "because too many waited for an answer"},
		}), tally("refusals of other ranks without valid authentication", []tallied{
			{&s.Refusals, "without proof of the job's secret"},
		}))
}

// tallied is a counter with a description of what it counts.
type tallied struct {
	n  *atomic.Uint64
	of string
}

// tally returns one line with the counters that are not zero; no line if all are zero.
func tally(what string, counts []tallied) []string {
	var parts []string
	for _, c := range counts {
		if n := c.n.Load(); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, c.of))
		}
	}
	if parts == nil {
		return nil
	}
	return []string{what + ": " + strings.Join(parts, ", ")}
}
