package stripe_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/stripe"
)

// wire is a simulated connection with a fixed rate in bytes per second. It carries parts one after the other.
type wire struct {
	rate  float64
	free  time.Duration // the time at which the wire has carried all its parts
	under []carried
}

type carried struct {
	bytes int
	at    time.Duration
}

// bench consists of two wires, the main wire and the side wire, and a Judge that decides which parts each wire
// carries. Its time is virtual.
type bench struct {
	judge *stripe.Judge
	wires [2]wire
	now   time.Duration
	// shared is true if both wires use the same port.
	shared bool
	most   int
}

func (b *bench) attach() *bench {
	b.judge.Attach()
	return b
}

// move carries n bytes in parts, with a few parts at a time on each wire. It returns the time, and the number of
// bytes that the side wire carried.
func (b *bench) move(t *testing.T, n, part int) (time.Duration, int) {
	t.Helper()
	began, left, side := b.now, n, 0
	for left > 0 || len(b.wires[0].under)+len(b.wires[1].under) > 0 {
		for on := range stripe.Path(2) {
			w := &b.wires[on]
			for left > 0 && len(w.under) < b.most && (on == stripe.Main || b.judge.Both()) && b.judge.Takes(on, min(part, left), left) {
				p := min(part, left)
				left -= p
				if on == stripe.Side {
					side += p
				}
				rate := w.rate
				w.free = max(w.free, b.now)
				if b.shared {
					w.free = max(w.free, b.wires[1-on].free)
				}
				w.free += time.Duration(float64(p) / rate * 1e9)
				w.under = append(w.under, carried{p, w.free})
				b.judge.Posted(on, p, b.now)
			}
		}
		next := -1
		for on := range b.wires {
			if w := &b.wires[on]; len(w.under) > 0 && (next < 0 || w.under[0].at < b.wires[next].under[0].at) {
				next = on
			}
		}
		require.GreaterOrEqual(t, next, 0, "no wire takes what is left")
		w := &b.wires[next]
		b.now = max(b.now, w.under[0].at)
		b.judge.Completed(stripe.Path(next), w.under[0].bytes, b.now)
		w.under = w.under[1:]
	}
	return b.now - began, side
}

// TestShares checks that each wire carries a share that fits its rate. A side wire carries nothing if it is much
// slower, or if it shares the port of the main wire.
func TestShares(t *testing.T) {
	const mega = 1 << 20
	for _, c := range []struct {
		name       string
		main, side float64
		shared     bool
		low, high  int // percent of the bytes that the side wire carries
		says       string
	}{
		{"equal", 1e9, 1e9, false, 45, 55, `^carries (49|50|51)% of the bytes: 1000 MB/s without it, (19|20)\d\d MB/s with it$`},
		{"the side is half as fast", 1e9, 5e8, false, 28, 38, `^carries 3\d% `},
		{"the side is twice as fast", 5e8, 1e9, false, 60, 70, `^carries 6\d% `},
		{"the side is much slower", 1e9, 1e7, false, 0, 0, `^not used, too little gain: 1000 MB/s without it, \d+ MB/s with it$`},
		{"one port", 1e9, 1e9, true, 0, 0, `^not used, too little gain: `},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := (&bench{judge: stripe.NewJudge(8*mega, stripe.Gain), wires: [2]wire{{rate: c.main}, {rate: c.side}}, shared: c.shared, most: 4}).attach()
			require.False(t, b.judge.Both())
			require.Equal(t, "being measured", b.judge.String())
			alone := 64 * mega / c.main
			b.move(t, 64*mega, mega/4)
			took, side := b.move(t, 64*mega, mega/4)
			require.GreaterOrEqual(t, 100*side, 64*mega*c.low)
			require.LessOrEqual(t, 100*side, 64*mega*c.high)
			best := alone
			if c.high > 0 {
				best = 64 * mega / (c.main + c.side)
			}
			require.Less(t, took.Seconds(), 1.1*best)
			require.Regexp(t, c.says, b.judge.String())
		})
	}
}

// TestTail checks the end of a transfer: the slower connection must get no part that completes later than all
// parts of the faster connection. The completions of the slower connection are polled in batches, so that the
// later completions of a batch seem to take no time.
func TestTail(t *testing.T) {
	const mega = 1 << 20
	b := (&bench{judge: stripe.NewJudge(4*mega, stripe.Gain), wires: [2]wire{{rate: 1e9}, {rate: 2e8}}, most: 4}).attach()
	b.move(t, 64*mega, mega/4)
	for i := range 8 * 4 {
		b.judge.Posted(stripe.Side, mega/4, b.now)
		if i%4 == 3 {
			b.now += 5 * time.Millisecond
			for n := range 4 {
				b.judge.Completed(stripe.Side, mega/4, b.now+time.Duration(n))
			}
		}
	}
	for left, takes := range map[int]bool{mega: false, 3 * mega: false, 8 * mega: true} {
		require.Equal(t, takes, b.judge.Takes(stripe.Side, mega, left), "%d bytes", left)
		require.True(t, b.judge.Takes(stripe.Main, mega, left))
	}
}

// TestJudgeChangesItsMind checks that the share of the side wire changes when this wire becomes slow, and again
// when it becomes fast.
func TestJudgeChangesItsMind(t *testing.T) {
	const mega = 1 << 20
	b := (&bench{judge: stripe.NewJudge(mega, stripe.Gain), wires: [2]wire{{rate: 1e9}, {rate: 1e9}}, most: 4}).attach()
	shareOf := func(n int) int {
		side := 0
		for range n {
			_, s := b.move(t, 64*mega, mega/8)
			side += s
		}
		return 100 * side / (n * 64 * mega)
	}
	require.Greater(t, shareOf(2), 40)
	b.wires[1].rate = 1e7
	shareOf(20)
	require.Less(t, shareOf(2), 2)
	b.wires[1].rate = 1e9
	shareOf(40)
	require.Greater(t, shareOf(2), 40)
	b.judge.Lost()
	require.False(t, b.judge.Both(), "a new connection is measured anew")
	require.Zero(t, shareOf(2), "there is no side connection")
	b.judge.Attach()
	require.Greater(t, shareOf(2), 40)
	b.judge.Reset()
	require.Equal(t, "being measured", b.judge.String())
}

// TestOtherWayIsMeasuredAgain checks that striping starts again when two wires that shared a port have a port
// each.
func TestOtherWayIsMeasuredAgain(t *testing.T) {
	const mega = 1 << 20
	b := (&bench{judge: stripe.NewJudge(mega, stripe.Gain), wires: [2]wire{{rate: 1e9}, {rate: 1e9}}, shared: true, most: 4}).attach()
	b.move(t, 16*mega, mega/8)
	require.False(t, b.judge.Both())
	b.shared = false
	b.move(t, 128*mega, mega/8)
	require.Contains(t, b.judge.String(), "% of the bytes: ")
	_, side := b.move(t, 16*mega, mega/8)
	require.Greater(t, side, 7*mega)
}
