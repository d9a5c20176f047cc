package cost_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// level is a layer at which a program could use the adapter.
type level struct {
	name string
	// messages connects two sides that send n bytes. carried, if not nil, is called when the
	// adapter has been told of a message.
	messages func(tb testing.TB, n int, carried func()) *dialogue
	// reads connects two sides, of which the first gets n bytes that the other one has, several
	// times at once, whenever read is called.
	reads func(tb testing.TB, n, atOnce int) (read func())
}

// levels are all of them, the lowest first.
var levels = []level{
	{"1-provider", bareMessages, bareReads},
	{"2-verbs", verbsMessages, verbsReads},
	{"3-transport", transportMessages, transportReads},
	{"4-engine", engineMessages, engineReads},
	{"5-runtime", runtimeMessages, runtimeReads},
}

// dialogue is two sides that send to each other. A message of either side is sent by send, and
// received at the other one by receive. flush polls once, which sends what the side holds back
// to send it together with more.
type dialogue struct {
	send, receive, flush [2]func()
	// expect posts the receive of the next message, which receive then waits for; nil where
	// receives belong to no message.
	expect [2]func()
}

// window is how many messages of a stream are sent before the first is received.
const window = 64

// stream is n messages one way, and one back, which brings the acknowledgement. The sender would
// hold back one more until it polls, which it does not while the other side waits.
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

// round is a message there and one back.
func (d *dialogue) round() {
	d.send[0]()
	d.receive[1]()
	d.send[1]()
	d.receive[0]()
}

// ready does what a receiver does before the message comes.
func (d *dialogue) ready(side int) {
	if d.expect[side] != nil {
		d.expect[side]()
	}
	d.flush[side]()
}

// warm is how many rounds there are before a measurement: connections stand then, and all
// memory was used.
const warm = 1000

func (l *level) dialogue(tb testing.TB, n int, carried func()) *dialogue {
	tb.Helper()
	d := l.messages(tb, n, carried)
	for range warm {
		d.round()
	}
	return d
}

// BenchmarkMessage is one message of 8 bytes of a dialogue, both sides together.
func BenchmarkMessage(b *testing.B) {
	for i := range levels {
		b.Run(levels[i].name, func(b *testing.B) {
			d := levels[i].dialogue(b, 8, nil)
			b.ReportAllocs()
			for b.Loop() {
				d.round()
			}
			perMessage(b, 2)
		})
	}
}

// perMessage reports the time of one of n messages of an iteration.
func perMessage(b *testing.B, n int) {
	b.Helper()
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/msg")
}

// BenchmarkStream is one message of 8 bytes of a stream.
func BenchmarkStream(b *testing.B) {
	for i := range levels {
		b.Run(levels[i].name, func(b *testing.B) {
			d := levels[i].dialogue(b, 8, nil)
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

// BenchmarkLatency is the part of a message of 8 bytes of a dialogue that its receiver waits
// for: at the sender until the adapter has been told, and at the receiver from there on. What
// is left is done while the message or its answer is on its way: after is that of the sender,
// ahead posts the receive and polls once, which finds nothing. The time that the clock takes is
// measured and left out.
func BenchmarkLatency(b *testing.B) {
	for i := range levels {
		b.Run(levels[i].name, func(b *testing.B) {
			var told time.Time
			d := levels[i].dialogue(b, 8, func() { told = time.Now() })
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

// durations counts how often something took so many ns. What takes longer than there are places
// is in the last one.
type durations [1 << 12]int

func (d *durations) add(t time.Duration) { d[min(max(int(t), 0), len(d)-1)]++ }

// typical is the mean in ns of those that are not longer than twice the median: a goroutine that
// loses its processor meanwhile does not count, and a clock with long ticks does no harm.
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

// BenchmarkRead is a message of 64 KiB, of which no byte is moved: the time beside the wire's.
func BenchmarkRead(b *testing.B) { benchmarkReads(b, 1) }

// BenchmarkReadStream is one of several messages of 64 KiB that are under way together, as in
// ib_read_bw.
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

// TestNothingIsAllocated: no layer allocates for a short message, in either way to send.
func TestNothingIsAllocated(t *testing.T) {
	for i := range levels {
		t.Run(levels[i].name, func(t *testing.T) {
			d := levels[i].dialogue(t, 8, nil)
			require.Zero(t, testing.AllocsPerRun(1000, d.round), "dialogue")
			if levels[i].name == "5-runtime" {
				return // its waiting goroutines sleep sooner, with the timers of ranks of one process
			}
			// Few enough for the credit of the peer: a wait for more may sleep, with a timer.
			stream := func() { d.stream(16) }
			for range warm / 10 {
				stream()
			}
			require.Zero(t, testing.AllocsPerRun(200, stream), "stream")
		})
	}
}
