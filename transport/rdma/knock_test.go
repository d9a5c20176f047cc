package rdma_test

import (
	"crypto/tls"
	"net"
	"os"
	goruntime "runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport/rdma"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// knocksPerSecond is the number of connections per second that a crowd tries to make. A slow host makes fewer
// connections.
const knocksPerSecond = 1000

// crowd is a group of strangers at several addresses. They know everything about the job except its secret.
type crowd struct {
	to    string
	first [][]byte // the bytes that a stranger writes first; strangers use them in turn
	stop  atomic.Bool
	count atomic.Int64
	done  sync.WaitGroup
}

// knocks starts a crowd that connects to an address.
func knocks(to string, first ...[]byte) *crowd {
	c := &crowd{to: to, first: first}
	const together = 8
	for i := range together {
		c.done.Go(func() {
			due := time.Now()
			for n := i; !c.stop.Load(); n++ {
				c.knock(n)
				due = due.Add(together * time.Second / knocksPerSecond)
				time.Sleep(time.Until(due)) // keeps the rate at knocksPerSecond
			}
		})
	}
	return c
}

// knock connects, writes the first bytes of stranger n, waits up to 2 ms for an answer, and closes the
// connection.
func (c *crowd) knock(n int) {
	from := &net.TCPAddr{IP: net.IPv4(127, 0, 1, byte(1+n%8))} // the rank is at 127.0.0.1
	conn, err := (&net.Dialer{Timeout: time.Second, LocalAddr: from}).Dial("tcp", c.to)
	if err != nil {
		return
	}
	c.count.Add(1)
	_, _ = conn.Write(c.first[n%len(c.first)])
	_ = conn.SetReadDeadline(time.Now().Add(2 * time.Millisecond))
	_, _ = conn.Read(make([]byte, 256))
	_ = conn.Close()
}

// end stops the crowd and returns the number of its connections.
func (c *crowd) end() int64 {
	c.stop.Store(true)
	c.done.Wait()
	return c.count.Load()
}

// tlsHello returns the first bytes that a TLS client sends.
func tlsHello(tb testing.TB) []byte {
	tb.Helper()
	a, b := net.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = tls.Client(a, &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS13}).Handshake() //nolint:gosec // a stranger's
	}()
	hello := make([]byte, 4096)
	n, err := b.Read(hello)
	require.NoError(tb, err)
	require.NoError(tb, b.Close())
	<-done
	require.NoError(tb, a.Close())
	return hello[:n]
}

// asked makes connections to a rank one after the other, with attempt numbers from first+1. It returns the
// times from the requests to the acceptances, in ascending order. asked calls established when a connection is
// accepted.
func asked(t *testing.T, r *rank, u *puppet, connections, first int, established func()) []time.Duration {
	t.Helper()
	c, times := credentials(1, 2), make([]time.Duration, connections)
	for i := range times {
		n := request(uint16(first + i + 1))
		began := time.Now()
		h := u.dial(r.Address(), c.AppendRequest(nil, &n, 0))
		require.Equal(t, verbs.EventEstablished, h.answer(r).Type, "connection %d: %v", i, h.event.Err)
		times[i] = time.Since(began)
		h.say(frame(word(0, 0, 8, 0), kindUpdate))
		established()
		require.NoError(t, h.endpoint.Disconnect(verbs.CloseAbrupt))
		for range 20 {
			r.poll()
			u.poll()
		}
	}
	slices.Sort(times)
	return times
}

// TestStrangersDoNotKeepRanksOut checks that a rank accepts every request of another rank while strangers
// connect at a high rate. It also checks that the strangers cause a bounded number of goroutines, that the
// strangers are counted, and that the provider and the rank together log at most two lines.
func TestStrangersDoNotKeepRanksOut(t *testing.T) {
	connections := 100
	switch {
	case testing.Short():
		connections = 20
	case os.Getenv("GORUN_SOAK") == "1":
		connections = 5000
	}
	for name, sealed := range map[string]bool{"in clear": false, "encrypted": true} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			var lines []string
			log := func(line string) {
				mu.Lock()
				defer mu.Unlock()
				lines = append(lines, line)
			}
			p := iwarp.New(iwarp.Config{HalfOpenMax: 32, Log: log})
			r, u := loneAt(t, loopback(p, 2), 2, func(c *rdma.Config) { c.Log = log })
			if sealed {
				require.NoError(t, r.Encrypt())
			}
			before := goruntime.NumGoroutine()
			quiet := asked(t, r, u, connections, 0, func() {})
			g, n := guessing(1, 2), request(1)
			crowd := knocks(r.Address().String(), nil, []byte("GET / HTTP/1.1\r\n\r\n"), startup(requestKey, g.AppendRequest(nil, &n, 0)), tlsHello(t))
			u.settle(r, "the first stranger", func() bool { return crowd.count.Load() > 0 })
			started, most := time.Now(), 0
			times := asked(t, r, u, connections, connections, func() { most = max(most, goruntime.NumGoroutine()) })
			took := time.Since(started)
			knocked := crowd.end()
			t.Logf("%d strangers in %v, %.0f/s; a connection takes %v in the middle, at most %v, and %v and %v before they come; at most %d goroutines more",
				knocked, took, float64(knocked)/took.Seconds(), times[connections/2], times[connections-1],
				quiet[connections/2], quiet[connections-1], most-before)
			require.LessOrEqual(t, most-before, 8+8, "the strangers' own, and those of the connection")
			s, k := r.Strangers(), p.Counters()
			u.settle(r, "a stranger that is counted", func() bool {
				return s.Unproved.Load()+s.Foreign.Load()+k.Strangers.Load()+k.HungUp.Load()+k.Crowded.Load() > 0
			})
			require.NoError(t, r.Close())
			mu.Lock()
			defer mu.Unlock()
			require.LessOrEqual(t, len(lines), 2, "the provider and the rank each name at most one stranger: %v", lines)
		})
	}
}

// TestKnockWakesNoActor checks that a rank refuses a stranger without starting the actors of connections.
func TestKnockWakesNoActor(t *testing.T) {
	r, u := loneAt(t, loopback(iwarp.New(iwarp.Config{}), 2), 2, nil)
	g := guessing(1, 2)
	for i := range uint16(50) {
		n := request(i + 1)
		h := u.dial(r.Address(), g.AppendRequest(nil, &n, 0))
		require.Equal(t, verbs.EventPeerRejected, h.answer(r).Type)
	}
	require.Equal(t, uint64(50), r.Strangers().Unproved.Load())
	require.False(t, r.Supervised())
	c, n := credentials(1, 2), request(1)
	require.Equal(t, verbs.EventEstablished, u.dial(r.Address(), c.AppendRequest(nil, &n, 0)).answer(r).Type)
	require.True(t, r.Supervised())
	require.NoError(t, r.Close())
}
