package rdma_test

import (
	"crypto/tls"
	"net"
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

// crowd are strangers who know everything but the secret and knock 1,000 times a second.
type crowd struct {
	to    string
	first [][]byte // what each says, in turn
	stop  atomic.Bool
	count atomic.Int64
	done  sync.WaitGroup
}

// knocks begins to knock.
func knocks(to string, first ...[]byte) *crowd {
	c := &crowd{to: to, first: first}
	const together = 8
	for i := range together {
		c.done.Go(func() {
			for n := i; !c.stop.Load(); n++ {
				c.knock(n)
				time.Sleep(together * time.Millisecond) // the rate is what is asked for
			}
		})
	}
	return c
}

// knock says what is one's turn, waits for an answer for a moment, and goes.
func (c *crowd) knock(n int) {
	conn, err := net.DialTimeout("tcp", c.to, time.Second)
	if err != nil {
		return
	}
	c.count.Add(1)
	_, _ = conn.Write(c.first[n%len(c.first)])
	_ = conn.SetReadDeadline(time.Now().Add(2 * time.Millisecond))
	_, _ = conn.Read(make([]byte, 256))
	_ = conn.Close()
}

// end returns how often it was knocked.
func (c *crowd) end() int64 {
	c.stop.Store(true)
	c.done.Wait()
	return c.count.Load()
}

// tlsHello is the first flight of a handshake.
func tlsHello(t *testing.T) []byte {
	t.Helper()
	a, b := net.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = tls.Client(a, &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS13}).Handshake() //nolint:gosec // a stranger's
	}()
	hello := make([]byte, 4096)
	n, err := b.Read(hello)
	require.NoError(t, err)
	require.NoError(t, b.Close())
	<-done
	require.NoError(t, a.Close())
	return hello[:n]
}

// TestStrangersDoNotKeepRanksOut: while strangers knock, every request of a rank is
// accepted, what they cost is bounded, and they are counted and named once.
func TestStrangersDoNotKeepRanksOut(t *testing.T) {
	connections := 100
	if testing.Short() {
		connections = 20
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
			c, g := credentials(1, 2), guessing(1, 2)
			n := request(1)
			crowd := knocks(r.Address().String(), nil, []byte("GET / HTTP/1.1\r\n\r\n"), startup(requestKey, g.AppendRequest(nil, &n, 0)), tlsHello(t))
			times := make([]time.Duration, connections)
			most := 0
			for i := range times {
				n := request(uint16(i + 1))
				began := time.Now()
				h := u.dial(r.Address(), c.AppendRequest(nil, &n, 0))
				require.Equal(t, verbs.EventEstablished, h.answer(r).Type, "connection %d: %v", i, h.event.Err)
				times[i] = time.Since(began)
				h.say(frame(word(0, 0, 8, 0), kindUpdate))
				most = max(most, goruntime.NumGoroutine())
				require.NoError(t, h.endpoint.Disconnect(verbs.CloseAbrupt))
				for range 20 {
					r.poll()
					u.poll()
				}
			}
			knocked := crowd.end()
			slices.Sort(times)
			t.Logf("%d strangers; a connection takes %v in the middle, at most %v; at most %d goroutines more", knocked, times[connections/2], times[connections-1], most-before)
			require.LessOrEqual(t, most-before, 8+32+8, "a goroutine for each stranger that is there, and no other")
			s, k := r.Strangers(), p.Counters()
			require.Positive(t, s.Unproved.Load()+s.Foreign.Load()+k.Strangers.Load()+k.HungUp.Load()+k.Crowded.Load())
			require.NoError(t, r.Close())
			mu.Lock()
			defer mu.Unlock()
			require.LessOrEqual(t, len(lines), 2, "of each kind the first is named: %v", lines)
		})
	}
}
