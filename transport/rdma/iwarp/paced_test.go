package iwarp_test

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/transport/rdma/iwarp"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// pace makes the kernel send at most rate bytes per second on each socket of this process.
func pace(tb testing.TB, rate uint64) {
	tb.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	require.NoError(tb, err)
	paced := 0
	for _, e := range entries {
		fd, err := strconv.Atoi(e.Name())
		require.NoError(tb, err)
		if unix.SetsockoptUint64(fd, unix.SOL_SOCKET, unix.SO_MAX_PACING_RATE, rate) == nil { // fails if fd is no socket
			paced++
		}
	}
	require.GreaterOrEqual(tb, paced, 2)
}

// BenchmarkPacedWrite writes 32 MiB to a peer over a connection that the kernel limits to 1 Gbit/s, with and
// without compression. The bytes are either random, so that they cannot be compressed, or all zero.
func BenchmarkPacedWrite(b *testing.B) {
	const bytes, each = 32 << 20, 1 << 20
	for _, data := range []string{"random", "zeros"} {
		for name, packing := range map[string]iwarp.Packing{"as it is": iwarp.PackNever, "auto": iwarp.PackAuto} {
			b.Run(data+"/"+name, func(b *testing.B) {
				x, y, ex, ey := pairOfSides(b, iwarp.Config{Packing: packing}, each)
				pace(b, 125_000_000)
				if data == "random" {
					_, _ = rand.NewChaCha8([32]byte{}).Read(x.region.Bytes())
				}
				to := y.region.Remote(0, each)
				write := verbs.WorkRequest{Op: verbs.OpWrite, Segments: []verbs.Segment{x.region.Segment(0, each)}, RemoteAddress: to.Address, RKey: to.RKey}
				b.SetBytes(bytes)
				for b.Loop() {
					require.NoError(b, ey.PostReceive(&verbs.ReceiveRequest{}))
					ended := make(chan bool)
					go func() { ended <- y.settle(verbs.StreamReceive) }()
					for range bytes / each {
						require.NoError(b, ex.Post(&write))
					}
					require.NoError(b, ex.Post(&verbs.WorkRequest{Op: verbs.OpSend}))
					for range bytes/each + 1 {
						require.True(b, x.settle(verbs.StreamRequest))
					}
					require.True(b, <-ended)
				}
				b.ReportMetric(float64(x.provider.Counters().PackedFrom.Load())/float64(b.N)/bytes, "packed")
			})
		}
	}
}
