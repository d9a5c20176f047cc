package rdma_test

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport/rdma/iwarp"
)

// BenchmarkStranger measures how much time a rank spends on one connection of a stranger, from TCP's accept to
// the end of the connection. Only the time of the rank's polls is measured, without the work of the stranger.
func BenchmarkStranger(b *testing.B) {
	g, n := guessing(1, 2), request(1)
	asks := startup(requestKey, g.AppendRequest(nil, &n, 0))
	for _, c := range []struct {
		name   string
		sealed bool
		first  []byte
	}{
		{"hangs up", false, nil},
		{"says nonsense", false, []byte("GET / HTTP/1.1\r\n\r\n")},
		{"asks without the secret", false, asks},
		{"asks in clear a rank with TLS", true, asks},
		{"begins TLS without the secret", true, tlsHello(b)},
		{"goes on with nothing", false, []byte("MPA ID R")},
	} {
		b.Run(c.name, func(b *testing.B) { strangers(b, c.sealed, c.first) })
	}
}

func strangers(b *testing.B, sealed bool, first []byte) {
	b.Helper()
	p := iwarp.New(iwarp.Config{})
	r, _ := loneAt(b, loopback(p, 2), 2, nil)
	if sealed {
		require.NoError(b, r.Encrypt())
	}
	s, k := r.Strangers(), p.Counters()
	ended := func() uint64 {
		return s.Unproved.Load() + s.Foreign.Load() + k.Strangers.Load() + k.HungUp.Load() + k.Crowded.Load() + k.Refused.Load()
	}
	const together = 100
	conns := make([]net.Conn, 0, together)
	b.ResetTimer()
	for done := 0; done < b.N; done += together {
		b.StopTimer()
		for range together {
			c, err := net.Dial("tcp", r.Address().String())
			require.NoError(b, err)
			_, err = c.Write(first)
			require.NoError(b, err)
			require.NoError(b, c.(*net.TCPConn).CloseWrite())
			conns = append(conns, c)
		}
		before := ended()
		b.StartTimer()
		for ended() < before+together {
			r.poll()
		}
		b.StopTimer()
		for _, c := range conns {
			_ = c.Close()
		}
		conns = conns[:0]
		b.StartTimer()
	}
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "strangers/s")
	require.NoError(b, r.Close())
}
