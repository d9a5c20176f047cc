package iwarp_test

import (
	"fmt"
	"net"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/transport/rdma/iwarp"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// pairOfSides connects two adapters for a benchmark. Another goroutine may poll one of them.
func pairOfSides(b *testing.B, c iwarp.Config, memory int) (x, y *side, ex, ey *verbs.Endpoint) {
	b.Helper()
	x, y = newSide(b, c, memory), newSide(b, c, memory)
	ex, ey = join(b, x, y, func(e *verbs.EndpointAttributes) { e.MaxReceives, e.MaxRequests = 1024, 1024 })
	return x, y, ex, ey
}

// settle polls until a work request of the given stream completes.
func (s *side) settle(stream verbs.Stream) bool {
	for {
		n := s.queue.Poll(s.into[:1])
		if n == 1 && s.into[0].Stream == stream {
			return s.into[0].Status == verbs.StatusSuccess
		}
		if n == 1 && s.into[0].Stream == verbs.StreamConnection {
			return false
		}
	}
}

// BenchmarkPingPong measures half the round-trip time of Sends between two goroutines that poll without
// sleeping.
func BenchmarkPingPong(b *testing.B) {
	for _, n := range []int{8, 8 << 10} {
		b.Run(fmt.Sprintf("%d", n), func(b *testing.B) {
			x, y, ex, ey := pairOfSides(b, iwarp.Config{}, 64<<10)
			ended := make(chan bool)
			// total is the number of round trips. Each round trip ends with the Send of y.
			total := 0
			turn := func(s *side, ep *verbs.Endpoint, count int, starts bool) bool {
				receive := verbs.ReceiveRequest{Segments: []verbs.Segment{s.region.Segment(0, n)}}
				send := verbs.WorkRequest{Op: verbs.OpSend, Flags: verbs.FlagUnsignalled, Segments: []verbs.Segment{s.region.Segment(n, n)}}
				for range count {
					if starts && ep.Post(&send) != nil || !s.settle(verbs.StreamReceive) || ep.PostReceive(&receive) != nil || !starts && ep.Post(&send) != nil {
						return false
					}
				}
				return true
			}
			for _, e := range []struct {
				s  *side
				ep *verbs.Endpoint
			}{{x, ex}, {y, ey}} {
				require.NoError(b, e.ep.PostReceive(&verbs.ReceiveRequest{Segments: []verbs.Segment{e.s.region.Segment(0, n)}}))
			}
			total = b.N
			go func() { ended <- turn(y, ey, total, false) }()
			b.ResetTimer()
			require.True(b, turn(x, ex, total, true))
			b.StopTimer()
			require.True(b, <-ended)
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/2, "ns/hop")
		})
	}
}

// BenchmarkWrite measures the bandwidth of Writes. The measurement ends when a Send that follows
// the last Write has arrived.
func BenchmarkWrite(b *testing.B) {
	for name, c := range map[string]iwarp.Config{"CRC": {}, "no CRC": {NoCRC: true}} {
		for _, n := range []int{64 << 10, 1 << 20, 16 << 20} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				x, y, ex, ey := pairOfSides(b, c, n)
				to := y.region.Remote(0, n)
				require.NoError(b, ey.PostReceive(&verbs.ReceiveRequest{}))
				ended := make(chan bool)
				go func() { ended <- y.settle(verbs.StreamReceive) }()
				b.SetBytes(int64(n))
				b.ResetTimer()
				write := verbs.WorkRequest{Op: verbs.OpWrite, Segments: []verbs.Segment{x.region.Segment(0, n)}, RemoteAddress: to.Address, RKey: to.RKey}
				under := 0
				for range b.N {
					for under >= 16 {
						require.True(b, x.settle(verbs.StreamRequest))
						under--
					}
					require.NoError(b, ex.Post(&write))
					under++
				}
				require.NoError(b, ex.Post(&verbs.WorkRequest{Op: verbs.OpSend}))
				for ; under >= 0; under-- {
					require.True(b, x.settle(verbs.StreamRequest))
				}
				require.True(b, <-ended)
				b.StopTimer()
				placed, copied := y.provider.Counters().BytesPlaced.Load(), y.provider.Counters().BytesCopied.Load()
				b.ReportMetric(100*float64(copied)/float64(placed+copied), "%copied")
			})
		}
	}
}

// BenchmarkMessageRate measures the rate of Sends of 8 bytes that are posted in lists.
func BenchmarkMessageRate(b *testing.B) {
	const window = 512
	x, y, ex, ey := pairOfSides(b, iwarp.Config{}, 64<<10)
	receive := verbs.ReceiveRequest{Segments: []verbs.Segment{y.region.Segment(0, 8)}}
	for range window {
		require.NoError(b, ey.PostReceive(&receive))
	}
	require.NoError(b, ex.PostReceive(&verbs.ReceiveRequest{}))
	ended := make(chan error)
	rounds := b.N/window + 1
	go func() {
		for range rounds {
			for range window {
				if !y.settle(verbs.StreamReceive) {
					ended <- net.ErrClosed
					return
				}
				_ = ey.PostReceive(&receive)
			}
			_ = ey.Post(&verbs.WorkRequest{Op: verbs.OpSend, Flags: verbs.FlagUnsignalled})
		}
		ended <- nil
	}()
	list := make([]verbs.WorkRequest, window/8)
	for i := range list {
		list[i] = verbs.WorkRequest{Op: verbs.OpSend, Flags: verbs.FlagUnsignalled, Segments: []verbs.Segment{x.region.Segment(0, 8)}}
	}
	b.ResetTimer()
	for range rounds {
		for range 8 {
			_, err := ex.PostList(list)
			require.NoError(b, err)
		}
		require.True(b, x.settle(verbs.StreamReceive))
		require.NoError(b, ex.PostReceive(&verbs.ReceiveRequest{}))
	}
	require.NoError(b, <-ended)
	b.StopTimer()
	b.ReportMetric(float64(rounds*window)/b.Elapsed().Seconds()/1e6, "Mmsg/s")
}

// rawPair returns the descriptors of the two ends of a TCP connection that Go's network poller does not watch.
func rawPair(b *testing.B) (int, int) {
	b.Helper()
	l, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	require.NoError(b, err)
	defer func() { _ = unix.Close(l) }()
	require.NoError(b, unix.Bind(l, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	require.NoError(b, unix.Listen(l, 1))
	at, err := unix.Getsockname(l)
	require.NoError(b, err)
	x, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	require.NoError(b, err)
	require.NoError(b, unix.Connect(x, at))
	y, _, err := unix.Accept4(l, unix.SOCK_CLOEXEC)
	require.NoError(b, err)
	for _, fd := range []int{x, y} {
		require.NoError(b, unix.SetNonblock(fd, true))
		require.NoError(b, unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1))
		b.Cleanup(func() { _ = unix.Close(fd) })
	}
	return x, y
}

// rawRead reads n bytes and retries without sleeping.
func rawRead(fd int, p []byte, n int) bool {
	for n > 0 {
		m, errno := iwarp.RawReceive(fd, p[:min(n, len(p))])
		if errno == syscall.EAGAIN {
			continue
		}
		if errno != 0 || m == 0 {
			return false
		}
		n -= m
	}
	return true
}

// rawWrite writes all of p and retries without sleeping.
func rawWrite(fd int, p []byte) bool {
	for len(p) > 0 {
		m, errno := iwarp.RawSend(fd, p)
		if errno == syscall.EAGAIN {
			continue
		}
		if errno != 0 {
			return false
		}
		p = p[m:]
	}
	return true
}

// BenchmarkRawPingPong measures half the round-trip time of TCP itself, with the system calls of this package.
func BenchmarkRawPingPong(b *testing.B) {
	for _, n := range []int{8, 8 << 10} {
		b.Run(fmt.Sprintf("%d", n), func(b *testing.B) {
			x, y := rawPair(b)
			ended := make(chan bool)
			total := b.N
			go func() {
				p := make([]byte, n)
				for range total {
					if !rawRead(y, p, n) || !rawWrite(y, p) {
						break
					}
				}
				ended <- true
			}()
			p := make([]byte, n)
			b.ResetTimer()
			for range total {
				require.True(b, rawWrite(x, p) && rawRead(x, p, n))
			}
			b.StopTimer()
			<-ended
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/2, "ns/hop")
		})
	}
}

// BenchmarkRawStream measures the bandwidth of TCP with writes of 256 KiB.
func BenchmarkRawStream(b *testing.B) {
	x, y := rawPair(b)
	const n = 256 << 10
	b.SetBytes(n)
	ended := make(chan bool)
	total := b.N * n
	go func() { ended <- rawRead(y, make([]byte, 1<<20), total) }()
	p := make([]byte, n)
	b.ResetTimer()
	for range b.N {
		require.True(b, rawWrite(x, p))
	}
	require.True(b, <-ended)
}
