package cost_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// level is a software layer at which a program could use the adapter.
type level struct {
	name string
	// messages connects two sides that send n bytes. If carried is not nil, it is called after
	// the adapter has been told of a message.
	messages func(tb testing.TB, n int, carried func()) *dialogue
	// reads connects two sides. Each call of read makes atOnce transfers in parallel, each of n
	// bytes from the second side to the first.
	reads func(tb testing.TB, n, atOnce int) (read func())
}

// levels lists all levels, the lowest first.
var levels = []level{
	{"1-provider", bareMessages, bareReads},
	{"2-verbs", verbsMessages, verbsReads},
	{"3-transport", transportMessages, transportReads},
	{"4-engine", engineMessages, engineReads},
	{"5-runtime", runtimeMessages, runtimeReads},
}

// dialogue has two sides that send messages to each other. One side calls send, and the other
// side calls receive. flush polls once. A side may hold messages back in order to send several
// together. The poll sends these messages.
type dialogue struct {
	send, receive, flush [2]func()
	// expect posts the receive of the next message, for which receive then waits. It is nil if
	// posted receives do not belong to a particular message.
	expect [2]func()
}

// window is how many messages of a stream are sent before the first is received.
const window = 64

// stream sends n messages one way. One message back then carries the acknowledgement. The explicit
// flush is necessary because the sender would otherwise hold back one message while the other side
// waits for it.
func (d *dialogue) stream(n int) {
	for range n {
		d.send[0]()
	}
	d.flush[0]()
	for range n {
		d.receive[1]()
	}
	d.send[1]()
	d.receive[0]()
}

// round sends a message from the first side to the second, and a message back.
func (d *dialogue) round() {
	d.send[0]()
	d.receive[1]()
	d.send[1]()
	d.receive[0]()
}

// ready prepares a side for a message. If each receive belongs to a particular message, ready posts
// the receive. Then it polls once.
func (d *dialogue) ready(side int) {
	if d.expect[side] != nil {
		d.expect[side]()
	}
	d.flush[side]()
}

// warm is the number of rounds before a measurement. After them, the connections are established
// and all memory has been touched.
const warm = 1000

func (l *level) dialogue(tb testing.TB, carried func()) *dialogue {
	tb.Helper()
	d := l.messages(tb, 8, carried)
	for range warm {
		d.round()
	}
	return d
}

// BenchmarkMessage measures the time of one message of 8 bytes in a dialogue. The time is the work of
// both sides together.
func BenchmarkMessage(b *testing.B) {
	for i := range levels {
		b.Run(levels[i].name, func(b *testing.B) {
			d := levels[i].dialogue(b, nil)
			b.ReportAllocs()
			for b.Loop() {
				d.round()
			}
			perMessage(b, 2)
		})
	}
}

// perMessage reports the time of a message if an iteration sends n messages.
func perMessage(b *testing.B, n int) {
	b.Helper()
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/msg")
}

// BenchmarkStream measures the time of one message of 8 bytes in a stream (dialogue.stream).
func BenchmarkStream(b *testing.B) {
	for i := range levels {
		b.Run(levels[i].name, func(b *testing.B) {
			d := levels[i].dialogue(b, nil)
			for range warm {
				d.stream(window)
			}
			b.ReportAllocs()
			for b.Loop() {
				d.stream(window)
			}
			perMessage(b, window+1)
		})
	}
}

// BenchmarkLatency measures the part of the work that determines the latency of a message of 8
// bytes. This part is the sender's work until the adapter has been told, and then the receiver's.
// The remaining work is done while the message or its answer is in transit. The metric "after" is
// the remaining work of the sender. The metric "ahead" is that of the receiver, which posts the
// receive and polls once without success. The time to read the clock is measured and subtracted.
func BenchmarkLatency(b *testing.B) {
	for i := range levels {
		b.Run(levels[i].name, func(b *testing.B) {
			var told time.Time
			d := levels[i].dialogue(b, func() { told = time.Now() })
			var post, after, ahead, receive, clock durations
			for b.Loop() {
				for from := range d.send {
					idle := time.Now()
					d.ready(1 - from)
					began := time.Now()
					d.send[from]()
					sent := time.Now()
					after.add(sent.Sub(told))
					post.add(told.Sub(began))
					again := time.Now()
					d.receive[1-from]()
					received := time.Now()
					ahead.add(began.Sub(idle))
					receive.add(received.Sub(again))
					clock.add(time.Since(received))
				}
			}
			tick := clock.typical()
			for unit, t := range map[string]float64{"post-ns": post.typical(), "after-ns": after.typical(), "ahead-ns": ahead.typical(), "receive-ns": receive.typical()} {
				b.ReportMetric(t-tick, unit)
			}
			b.ReportMetric(post.typical()+receive.typical()-2*tick, "latency-ns")
		})
	}
}

// durations counts how often an operation took each number of nanoseconds. The last element
// counts all longer durations.
type durations [1 << 12]int

func (d *durations) add(t time.Duration) { d[min(max(int(t), 0), len(d)-1)]++ }

// typical returns the mean in nanoseconds of the durations up to twice the median. Longer durations
// do not count, because the goroutine may have lost its processor. A mean is accurate even if the
// clock has coarse ticks.
func (d *durations) typical() float64 {
	all := 0
	for _, n := range d {
		all += n
	}
	counted, sum, most := 0, 0, len(d)
	for t, n := range d[:most] {
		if t > most {
			break
		}
		counted, sum = counted+n, sum+n*t
		if 2*counted >= all && most == len(d) {
			most = 2 * t
		}
	}
	return float64(sum) / float64(counted)
}

// BenchmarkRead measures a message of 64 KiB. No byte is moved, so the result excludes the time on
// the wire.
func BenchmarkRead(b *testing.B) { benchmarkReads(b, 1) }

// BenchmarkReadStream measures one of several messages of 64 KiB that are in progress together,
// as in the program ib_read_bw.
func BenchmarkReadStream(b *testing.B) { benchmarkReads(b, 16) }

func benchmarkReads(b *testing.B, atOnce int) {
	b.Helper()
	for i := range levels {
		b.Run(levels[i].name, func(b *testing.B) {
			read := levels[i].reads(b, 64<<10, atOnce)
			for range warm {
				read()
			}
			b.ReportAllocs()
			for b.Loop() {
				read()
			}
			perMessage(b, atOnce)
		})
	}
}

// TestNothingIsAllocated checks that no level allocates for a short message in a dialogue. The levels
// below package runtime must not allocate for a short message in a stream, either.
func TestNothingIsAllocated(t *testing.T) {
	for i := range levels {
		t.Run(levels[i].name, func(t *testing.T) {
			d := levels[i].dialogue(t, nil)
			require.Zero(t, testing.AllocsPerRun(1000, d.round), "dialogue")
			if levels[i].name == "5-runtime" {
				// Waiting goroutines of ranks in one process sleep sooner, with timers that
				// allocate.
				return
			}
			// The stream fits into the peer's credit. Otherwise a wait for more credit may sleep,
			// with a timer that allocates.
			stream := func() { d.stream(16) }
			for range warm / 10 {
				stream()
			}
			require.Zero(t, testing.AllocsPerRun(200, stream), "stream")
		})
	}
}
