package main

import (
	"path/filepath"
	"time"
)

// timeoutActors is the timeout for a run of a system. In a run, the system does all measurements of one key.
const timeoutActors = 2 * time.Minute

// Keys of the measurements of actors. bench/actors and its peers print several values for each key.
const (
	onNode  = "actors on a node"
	overTCP = "actors over TCP"
	within  = "actors within a process"
)

// actorPlan compares gorun's actors with protoactor and with protoactor's package remote. It also measures net/rpc.
func actorPlan() plan {
	once, few := []string{"-rounds", "1"}, []string{"-scale", "0.01"}
	measurements := []measurement{
		{key: onNode, program: "actors", ranks: 2, bound: true, named: true, alone: true, ours: once, quick: few, timeout: timeoutActors},
		{
			key: overTCP, program: "actors", ranks: 2, bound: true, named: true, network: true, partners: []string{protoactor, netRPC},
			ours: once, quick: few, timeout: timeoutActors,
		},
		{
			key: within, program: "actors", ranks: 1, named: true, partners: []string{protoactor},
			args: []string{"-local"}, ours: once, quick: few, timeout: timeoutActors,
		},
	}
	return plan{
		name: "actors", title: "Actors of gorun beside protoactor and its remote, which is over TCP",
		measurements: measurements, rows: actorRows(), peers: actorSystems,
	}
}

// actorSystems returns gorun and the systems with which gorun's actors are compared.
func actorSystems(dir string, _ bool) []system {
	return []system{
		{
			name: gorun, title: "gorun", launcher: filepath.Join(dir, "gorun"), bound: []string{"-bind-to", "core"},
			network: []string{"-transport", "rdma"},
		},
		{name: protoactor, title: "protoactor", program: "protoactor", module: "github.com/asynkron/protoactor-go"},
		{name: netRPC, title: "net/rpc", program: "netrpc"},
	}
}

// actorRows returns the rows of actors. The rows of actors on one node compare gorun in shared memory with
// the peers over loopback TCP, because the peers have no other transport.
func actorRows() []row {
	latency := func(where, ours, theirs string) row {
		return row{name: "actors " + ours + ", " + place[where], unit: "us", measurement: keyOf(where, ours), theirs: keyOf(overTCP, theirs), against: protoactor}
	}
	rate := func(where, ours, theirs, unit string) row {
		r := latency(where, ours, theirs)
		r.unit, r.higher = unit, true
		return r
	}
	free := func(r row) row { r.free = true; return r }
	bar := func(r row, bar float64) row { r.bar = bar; return r }
	to := func(r row, name, against string) row {
		r.name, r.against = r.name+", to "+name, against
		return r
	}
	rows := []row{}
	for _, where := range []string{onNode, overTCP} {
		isLatency := func(r row) row {
			if where == onNode {
				return bar(r, 1./20)
			}
			return free(r)
		}
		isRate := func(r row) row {
			if where == overTCP {
				return bar(r, 5)
			}
			return free(r)
		}
		inline := latency(where, "request/reply 64 B inline", "request/reply 64 B")
		if where == onNode {
			itself := to(inline, "2 us", absolute)
			itself.bar, itself.aim = 2, 1
			rows = append(rows, itself)
		}
		structs := rate(where, "Tell 64 B struct worker", "Tell 64 B", "M/s")
		inlined := rate(where, "Tell 64 B struct inline", "Tell 64 B", "M/s")
		message := rate(where, "Tell 64 KiB Message worker", "Tell 64 KiB", "MB/s")
		isend, isendLarge := keyOf(where, "Isend 64 B"), keyOf(where, "Isend 64 KiB")
		rows = append(rows,
			isLatency(inline),
			isLatency(latency(where, "request/reply 64 B worker", "request/reply 64 B")),
			isLatency(latency(where, "Tell 64 B one way inline", "Tell 64 B one way")),
			isLatency(latency(where, "Tell 64 B one way worker", "Tell 64 B one way")),
			free(latency(where, "RequestFuture 64 B worker", "RequestFuture 64 B")),
			isRate(structs), bar(to(structs, "Isend", isend), 0.7),
			isRate(inlined), bar(to(inlined, "Isend", isend), 0.7),
			free(rate(where, "Tell 64 B proto worker", "Tell 64 B", "M/s")),
			free(message), free(to(message, "Isend", isendLarge)),
			free(rate(where, "Tell 64 KiB []byte worker", "Tell 64 KiB", "MB/s")),
			free(rate(where, "fan-in of 1000 actors", "fan-in of 1000 actors", "M/s")),
		)
	}
	for _, mode := range []string{"inline", "worker"} {
		beyond := latency(onNode, "RequestFuture beyond local "+mode, "RequestFuture beyond local")
		beyond.against = absolute
		rows = append(rows, bar(beyond, 1.5))
	}
	for _, where := range []string{onNode, overTCP} {
		allocations := latency(where, "allocations per Tell of a Message", "")
		allocations.theirs, allocations.against, allocations.unit = "", absolute, ""
		rows = append(rows, bar(allocations, 0.005))
	}
	pid := latency(onNode, "memory per remote PID", "memory per remote PID")
	pid.unit = "B"
	rows = append(rows, free(pid))
	return append(rows, localActorRows()...)
}

// place maps the key of a measurement to the word that the names of its rows contain.
var place = map[string]string{onNode: "node", overTCP: "TCP", within: "process"}

// localActorRows returns the rows of actors that send to actors of the same process. The rows
// compare gorun with protoactor without its package remote.
func localActorRows() []row {
	line := func(ours, theirs, unit string) row {
		return row{name: "actors " + ours, unit: unit, measurement: keyOf(within, ours), theirs: keyOf(within, theirs), against: protoactor, bar: 1}
	}
	tell, inline := line("local Tell worker", "local Tell", "M/s"), line("local Tell inline", "local Tell", "M/s")
	tell.higher, inline.higher = true, true
	future := line("local RequestFuture worker", "local RequestFuture", "us")
	memory := line("memory per actor", "memory per actor", "B")
	future.free, future.bar, memory.free, memory.bar = true, 0, true, 0
	return []row{tell, inline, line("local request/reply worker", "local request/reply", "us"), future, memory}
}
