package main

// measurement describes one line of the output: the name of a figure, its unit, and the function run that
// measures it.
type measurement struct {
	name, unit string
	run        func(*bench) (float64, error)
}

const (
	small = 64
	large = 64 << 10
)

// betweenRanks are the measurements between rank 0 and rank 1.
var betweenRanks = []measurement{
	{"Tell 64 B one way inline", "us", func(b *bench) (float64, error) { return b.oneWay(b.s.Inline(), "return-inline") }},
	{"Tell 64 B one way worker", "us", func(b *bench) (float64, error) { return b.oneWay(b.s.Worker(), "return-worker") }},
	{"request/reply 64 B inline", "us", func(b *bench) (float64, error) { return b.requests(b.s.Inline(), b.s.PID(1, "echo-inline")) }},
	{"request/reply 64 B worker", "us", func(b *bench) (float64, error) { return b.requests(b.s.Worker(), b.s.PID(1, "echo-worker")) }},
	{"RequestFuture 64 B inline", "us", func(b *bench) (float64, error) { return b.futures(b.s.PID(1, "echo-inline")) }},
	{"RequestFuture 64 B worker", "us", func(b *bench) (float64, error) { return b.futures(b.s.PID(1, "echo-worker")) }},
	{"RequestFuture beyond local inline", "us", func(b *bench) (float64, error) { return b.beyondLocal(b.s.PID(1, "echo-inline")) }},
	{"RequestFuture beyond local worker", "us", func(b *bench) (float64, error) { return b.beyondLocal(b.s.PID(1, "echo-worker")) }},
	{"Tell 64 B struct inline", "M/s", func(b *bench) (float64, error) { return b.tells(b.s.PID(1, "count-inline"), &record{}) }},
	{"Tell 64 B struct worker", "M/s", func(b *bench) (float64, error) { return b.tells(b.s.PID(1, "count-worker"), &record{}) }},
	{"Tell 64 B []byte worker", "M/s", func(b *bench) (float64, error) { return b.tells(b.s.PID(1, "count-worker"), make([]byte, small)) }},
	{"Tell 64 B proto worker", "M/s", func(b *bench) (float64, error) { return b.tells(b.s.PID(1, "count-worker"), sameBytes) }},
	{"Isend 64 B", "M/s", func(b *bench) (float64, error) { return b.isends(b.times(3000), small) }},
	{"Tell 64 KiB Message worker", "MB/s", func(b *bench) (float64, error) { return b.handovers(b.s.PID(1, "count-worker")) }},
	{"Tell 64 KiB []byte worker", "MB/s", func(b *bench) (float64, error) { return b.copies(b.s.PID(1, "count-worker")) }},
	{"Isend 64 KiB", "MB/s", func(b *bench) (float64, error) {
		rate, err := b.isends(b.times(60), large)
		return rate * large, err
	}},
	{"fan-in of 1000 actors", "M/s", (*bench).fanIn},
	{"allocations per Tell of a Message", "", func(b *bench) (float64, error) { return b.allocations(b.s.PID(1, "count-worker")) }},
	{"memory per remote PID", "B", (*bench).memoryOfPID},
	{"memory per remote PID, far side", "B", (*bench).memoryOfLink},
}

// withinRank are the measurements within rank 0, for -local.
var withinRank = []measurement{
	{"local Tell inline", "M/s", func(b *bench) (float64, error) {
		return b.tellMany(b.s.PID(0, "count-inline"), &record{}, b.times(1_000_000))
	}},
	{"local Tell worker", "M/s", func(b *bench) (float64, error) {
		return b.tellMany(b.s.PID(0, "count-worker"), &record{}, b.times(1_000_000))
	}},
	{"local request/reply inline", "us", func(b *bench) (float64, error) { return b.requests(b.s.Inline(), b.s.PID(0, "echo-inline")) }},
	{"local request/reply worker", "us", func(b *bench) (float64, error) { return b.requests(b.s.Worker(), b.s.PID(0, "echo-worker")) }},
	{"local RequestFuture inline", "us", func(b *bench) (float64, error) { return b.futures(b.s.PID(0, "echo-inline")) }},
	{"local RequestFuture worker", "us", func(b *bench) (float64, error) { return b.futures(b.s.PID(0, "echo-worker")) }},
	{"memory per actor", "B", (*bench).memoryOfActor},
}
