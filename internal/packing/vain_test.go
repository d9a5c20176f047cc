package packing_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/internal/packing"
)

// gigabit is the rate of a link of 1 Gbit/s in bytes per second.
const gigabit = 125_000_000

// noise returns random bytes, which cannot be compressed.
func noise(n int) []byte {
	b, random := make([]byte, n), rand.NewChaCha8([32]byte{1})
	_, _ = random.Read(b)
	return b
}

// vain sends a payload in pieces over a link of 1 Gbit/s that is always full. The argument bytes is the length
// of the payload. vain calls try for each piece that the decider wants to try. It returns, for each such piece,
// how many bytes had been sent when the piece ended.
func vain(bytes int, try func(d *packing.Decider)) (at []int) {
	d := packing.New(packing.Auto, limits)
	for sent := 0; sent < bytes; sent += piece {
		d.Block()
		if d.Wants(piece, func() packing.Pace { return packing.Pace{Rate: gigabit, Bound: true} }) {
			try(&d)
			at = append(at, sent+piece)
		}
	}
	return at
}

// TestRandomDataIsTriedRarely checks how many pieces of random data the decider tries in vain: at first at
// most one in four, later one in a thousand. The cost of all tries is the cost of one try times this number.
func TestRandomDataIsTriedRarely(t *testing.T) {
	random := noise(piece)
	at := vain(1<<30, func(d *packing.Decider) {
		require.False(t, d.Promises(random))
		require.False(t, d.On())
	})
	for i, sent := range at {
		require.LessOrEqual(t, 4*(i+1)*piece, sent, "a quarter of any payload from its start on")
		if i < 8 {
			require.Equal(t, 256<<10<<i, sent)
		}
	}
	require.Len(t, at, 8+16, "then once in 64 MiB")
}

// TestASampleIsTried checks that a piece is compressed only if a sample of its middle gets
// shorter. The sample is omitted if compression is on or forced.
func TestASampleIsTried(t *testing.T) {
	random, smooth := noise(piece), make([]byte, piece)
	mixed := append(noise(piece/2-2048), make([]byte, piece/2+2048)...)
	for name, c := range map[string]struct {
		mode    packing.Mode
		on      bool
		payload []byte
		want    bool
	}{
		"random":             {packing.Auto, false, random, false},
		"smooth":             {packing.Auto, false, smooth, true},
		"smooth at the end":  {packing.Auto, false, mixed, true},
		"a short one":        {packing.Auto, false, smooth[:1024], true},
		"a short random one": {packing.Auto, false, random[:1024], false},
		"compression is on":  {packing.Auto, true, random, true},
		"always":             {packing.Always, true, random, true},
	} {
		t.Run(name, func(t *testing.T) {
			d, _, _ := wanting(t, limits)
			if c.mode != packing.Auto {
				d = packing.New(c.mode, limits)
			} else if c.on {
				require.True(t, d.Judge(piece, piece/8, 0))
			}
			require.Equal(t, c.want, d.Promises(c.payload))
			require.Equal(t, c.on, d.On())
		})
	}
}

// BenchmarkVain measures the time of the tried pieces of random data, as a fraction of the time
// that a link of 1 Gbit/s needs for the payload. The result is an upper bound: the link continues
// to send during a try, because the socket is full. The payload is the total that one connection
// sends.
func BenchmarkVain(b *testing.B) {
	random := noise(piece)
	for _, c := range []struct {
		name  string
		bytes int
	}{{"256KiB", 256 << 10}, {"1MiB", 1 << 20}, {"8MiB", 8 << 20}, {"64MiB", 64 << 20}, {"1GiB", 1 << 30}} {
		b.Run(c.name, func(b *testing.B) {
			var took time.Duration
			for b.Loop() {
				vain(c.bytes, func(d *packing.Decider) {
					began := time.Now()
					d.Promises(random)
					took += time.Since(began)
				})
			}
			b.ReportMetric(100*took.Seconds()/float64(b.N)/(float64(c.bytes)/gigabit), "%-of-link")
		})
	}
}
