package main

import (
	"slices"
	"time"
)

// rawTCP is the program that measures TCP without gorun's messages.
const rawTCP = "rawtcp"

// timeoutNetwork bounds the runs over loopback.
const timeoutNetwork = 60 * time.Second

// Numbers of iterations for messages that take microseconds each, and for windows of 64 of them. The timed
// iterations take some tenths of a second. The warm-up before them, in which TCP's buffers grow, has between
// a quarter and half as many iterations. Only netHugeFew, which is for -quick, has no warm-up.
var (
	netWarm    = []string{"-i", "20000", "-x", "10000"}
	netWindows = []string{"-i", "30", "-x", "10"}
	netHuge    = []string{"-m", "16M", "-i", "3", "-x", "1"}
	netHugeFew = []string{"-i", "1", "-x", "0"}
	netRate    = []string{"-m", "8", "-i", "2000", "-x", "500"}
	netSmall   = slices.Concat([]string{"-m", "8"}, netWarm)
	netLong    = slices.Concat([]string{"-m", "1M"}, netWindows)
	withCRC    = []string{"GORUN_CRC=1"}
	encrypted  = []string{"GORUN_ENCRYPT=yes"}
	fourRanks  = []string{"-host", "a:2,b:2", "-rsh", "env GORUN_HOSTID=%h", "-bind-to", "none", "-encrypt=no"}
	twoNodes   = []string{"-host", "a:2,b:4", "-rsh", "env GORUN_HOSTID=%h", "-bind-to", "none", "-encrypt=no"}
	twoSizes   = []string{"-m", "64K,1M"}
)

// networkPlan compares gorun with Open MPI, MPICH and raw TCP for ranks that communicate through
// the network.
func networkPlan() plan {
	return plan{
		name: "rdma", title: "gorun beside Open MPI and MPICH through the network: two ranks, TCP over loopback",
		measurements: bounded(networkMeasurements()), rows: networkRows(), peers: systems,
	}
}

// networkMeasurements returns the measurements of TCP itself, and of ranks that communicate through the
// network although they are on one machine. In the measurements with twoNodes or fourRanks, gorun treats the
// machine as two nodes. With twoNodes, the two ranks that measure are on the first node. The ranks are not bound,
// because gorun binds no ranks of two nodes to the same processor.
func networkMeasurements() []measurement {
	over := func(m measurement) measurement {
		m.network, m.timeout = true, timeoutNetwork
		return m
	}
	return []measurement{
		over(measurement{key: "rdma latency", program: "latency", ranks: 2, bound: true, args: slices.Concat([]string{"-m", "8,8K"}, netWarm)}),
		{key: "tcp latency", program: rawTCP, ranks: 2, bound: true, alone: true, args: slices.Concat([]string{"-m", "8,8K"}, netWarm)},
		over(measurement{key: "rdma bandwidth", program: "bandwidth", ranks: 2, bound: true, args: slices.Concat(twoSizes, netWindows)}),
		over(measurement{key: "rdma bandwidth with CRC", program: "bandwidth", ranks: 2, bound: true, alone: true, args: slices.Concat(twoSizes, netWindows), env: withCRC}),
		{key: "tcp stream", program: rawTCP, ranks: 2, bound: true, alone: true, args: slices.Concat([]string{"-stream"}, twoSizes, netWindows)},
		over(measurement{key: "rdma bandwidth huge", program: "bandwidth", ranks: 2, bound: true, args: netHuge, quick: netHugeFew}),
		over(measurement{key: "rdma bandwidth huge with CRC", program: "bandwidth", ranks: 2, bound: true, alone: true, args: netHuge, quick: netHugeFew, env: withCRC}),
		{key: "tcp stream huge", program: rawTCP, ranks: 2, bound: true, alone: true, args: slices.Concat([]string{"-stream"}, netHuge), quick: netHugeFew},
		over(measurement{key: "rdma latency with CRC", program: "latency", ranks: 2, bound: true, alone: true, args: netSmall, env: withCRC}),
		over(measurement{key: "rdma latency encrypted", program: "latency", ranks: 2, bound: true, alone: true, args: netSmall, env: encrypted}),
		over(measurement{key: "rdma bandwidth encrypted", program: "bandwidth", ranks: 2, bound: true, alone: true, args: netLong, env: encrypted}),
		over(measurement{key: "rdma message rate", program: "messagerate", ranks: 2, bound: true, args: netRate}),
		over(measurement{key: "rdma connect", program: "connect", ranks: 18, alone: true, quick: []string{}}),
		over(measurement{key: "rdma allocations", program: "allocations", ranks: 2, bound: true, alone: true, args: []string{"-m", "8"}}),
		{key: "shm alone", program: "latency", ranks: 2, bound: true, alone: true, args: slices.Concat([]string{"-m", "8"}, warm)},
		{key: "shm beside rdma", program: "latency", ranks: 6, alone: true, args: slices.Concat([]string{"-m", "8", "-heard", "4"}, warm), launch: twoNodes},
		{key: "rdma arrival", program: "arrival", ranks: 4, alone: true, args: []string{"-i", "1000"}, launch: fourRanks},
		{key: "rdma arrival in a dialogue", program: "arrival", ranks: 4, alone: true, args: []string{"-i", "1000", "-busy", "1"}, launch: fourRanks},
		{key: "rdma arrival in a flood", program: "arrival", ranks: 4, alone: true, args: []string{"-i", "1000", "-busy", "64"}, launch: fourRanks},
	}
}

// networkRows returns the rows of networkMeasurements. The rows compare gorun with the peers, which also
// communicate through TCP, and with TCP itself.
func networkRows() []row {
	rows := []row{
		{name: "rdma message rate 8 B", unit: "1/s", measurement: "rdma message rate", size: 8, against: better, higher: true, bar: 2},
		{name: "rdma first message, with the connection", unit: "us", measurement: "rdma connect", size: 8, against: absolute, bar: 1000},
		{name: "rdma allocations per small message", measurement: "rdma allocations", size: 8, against: absolute, bar: 0.005},
		{name: "shm latency 8 B beside 4 rdma connections, to shm alone", unit: "us", measurement: "shm beside rdma", size: 8, against: "shm alone", bar: 1.1},
		{name: "rdma arrival 8 B beside a dialogue through shm, to its own", unit: "us", measurement: "rdma arrival in a dialogue", size: 8, against: "rdma arrival", bar: 2},
		{name: "rdma arrival 8 B beside a flood through shm, to its own", unit: "us", measurement: "rdma arrival in a flood", size: 8, against: "rdma arrival", bar: 2},
	}
	for _, l := range []struct {
		what string
		size int
	}{{"8 B", 8}, {"8 KiB", 8 * kib}} {
		rows = append(
			rows,
			row{name: "rdma latency " + l.what, unit: "us", measurement: "rdma latency", size: l.size, against: better, bar: 1},
			row{name: "rdma latency " + l.what + ", to raw TCP", unit: "us", measurement: "rdma latency", size: l.size, against: "tcp latency", free: true, aim: 1.1},
			row{name: "raw TCP latency " + l.what + ", to the rdma peers", unit: "us", measurement: "tcp latency", theirs: "rdma latency", size: l.size, against: better, free: true},
		)
	}
	for _, l := range []struct {
		what, suffix string
		size         int
	}{{"64 KiB", "", 64 * kib}, {"1 MiB", "", mib}, {"16 MiB", " huge", 16 * mib}} {
		bare, with, raw := "rdma bandwidth"+l.suffix, "rdma bandwidth"+l.suffix+" with CRC", "tcp stream"+l.suffix
		r := row{unit: "MB/s", measurement: bare, theirs: bare, size: l.size, against: better, higher: true}
		add := func(name string, change func(*row)) {
			line := r
			line.name = name
			change(&line)
			rows = append(rows, line)
		}
		add("rdma bandwidth "+l.what+" without CRC", func(r *row) { r.bar, r.aim = 1, 1.2 })
		add("rdma bandwidth "+l.what+" with CRC", func(r *row) { r.measurement, r.bar, r.aim = with, 0.85, 1 })
		add("rdma bandwidth "+l.what+" without CRC, to raw TCP", func(r *row) { r.against, r.free = raw, true })
		add("raw TCP stream "+l.what+", to the rdma peers", func(r *row) { r.measurement, r.free = raw, true })
	}
	return append(rows, encryptionRows()...)
}

// encryptionRows returns the rows that compare connections with CRC, and encrypted connections, with connections
// that have neither, which are the default between ranks of one node.
func encryptionRows() []row {
	return []row{
		{name: "rdma latency 8 B with CRC, to that without", unit: "us", measurement: "rdma latency with CRC", size: 8, against: "rdma latency", free: true},
		{name: "rdma latency 8 B with TLS, to that without", unit: "us", measurement: "rdma latency encrypted", size: 8, against: "rdma latency", free: true},
		{name: "rdma bandwidth 1 MiB with CRC, to that without", unit: "MB/s", measurement: "rdma bandwidth with CRC", size: mib, against: "rdma bandwidth", higher: true, free: true},
		{name: "rdma bandwidth 1 MiB with TLS, to that without", unit: "MB/s", measurement: "rdma bandwidth encrypted", size: mib, against: "rdma bandwidth", higher: true, free: true},
	}
}
