package iwarp_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport/rdma/iwarp"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// TestStrangersAreLoggedOnce checks that the provider drops and counts each kind of stranger, and that the log
// names only the first stranger of any kind.
func TestStrangersAreLoggedOnce(t *testing.T) {
	for _, c := range []struct {
		name    string
		config  iwarp.Config
		say     func(p *peer)
		counted func(c *iwarp.Counters) uint64
		why     string
	}{
		{
			"garbage",
			iwarp.Config{},
			func(p *peer) { p.send([]byte("GET / HTTP/1.1\r\nHost: gorun\r\n\r\n")) },
			func(c *iwarp.Counters) uint64 { return c.Strangers.Load() }, "MPA",
		},
		{
			"half-open",
			iwarp.Config{RequestTimeout: time.Millisecond},
			func(*peer) {},
			func(c *iwarp.Counters) uint64 { return c.Late.Load() }, "no request within 1ms",
		},
		{
			"slow",
			iwarp.Config{RequestTimeout: time.Millisecond},
			trickle,
			func(c *iwarp.Counters) uint64 { return c.Late.Load() }, "no request within 1ms",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var lines []string
			c.config.Log = func(line string) { lines = append(lines, line) }
			s := newSide(t, c.config, 64)
			l := s.listen()
			first := ""
			for n := range uint64(3) {
				p := dial(t, s, l.Address())
				from := p.conn.LocalAddr().String()
				c.say(p)
				p.ended()
				require.Equal(t, n+1, c.counted(s.provider.Counters()))
				if n == 0 {
					first = from
				}
			}
			require.NoError(t, s.adapter.Close()) // Close has written all log lines
			require.Len(t, lines, 1)
			require.Contains(t, lines[0], "iwarp: a connection from "+first+" was dropped: ")
			require.Contains(t, lines[0], c.why)
		})
	}
	t.Run("too many", func(t *testing.T) {
		var lines []string
		s := newSide(t, iwarp.Config{HalfOpenMax: 2, Log: func(line string) { lines = append(lines, line) }}, 64)
		l := s.listen()
		peers := make([]*peer, 5)
		for i := range peers {
			peers[i] = dial(t, s, l.Address())
			s.poll()
		}
		for _, p := range peers[:3] {
			p.ended()
		}
		require.NoError(t, s.adapter.Close())
		require.Len(t, lines, 1)
		require.Contains(t, lines[0], peers[0].conn.LocalAddr().String()+" was dropped: the listener has too many connections")
	})
	t.Run("hung up", func(t *testing.T) { // a rank hangs up if its peer connects to it at the same time
		var lines []string
		s := newSide(t, iwarp.Config{Log: func(line string) { lines = append(lines, line) }}, 64)
		p := dial(t, s, s.listen().Address())
		s.poll()
		require.NoError(t, p.conn.Close())
		p.pump(func() bool { return s.provider.Counters().HungUp.Load() == 1 })
		require.NoError(t, s.adapter.Close())
		require.Empty(t, lines)
	})
}

// TestUnreadLog checks that a blocked log delays neither strangers nor peers.
func TestUnreadLog(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	b := newSide(t, iwarp.Config{Log: func(string) { close(entered); <-leave }}, 64)
	t.Cleanup(func() { close(leave) })
	for range 2 {
		p := dial(t, b, b.listen().Address())
		p.send([]byte("GET / HTTP/1.1\r\n\r\n"))
		p.ended()
	}
	<-entered
	a := newSide(t, iwarp.Config{}, 64)
	x, y := join(t, a, b)
	require.NoError(t, y.PostReceive(&verbs.ReceiveRequest{ID: 1}))
	require.NoError(t, x.Post(&verbs.WorkRequest{ID: 2, Op: verbs.OpSend}))
	require.Equal(t, verbs.StatusSuccess, b.done(y, 1).Status)
	require.NoError(t, b.adapter.Close(), "though the line is still not taken")
}

// trickle sends a request without its last octet, one octet at a time, until the connection ends. Octets that
// arrive must not extend the deadline.
func trickle(p *peer) {
	f, err := strangerOffer().Request(make([]byte, 500))
	require.NoError(p.t, err)
	b, late := f.Append(nil), p.s.provider.Counters().Late.Load()
	for _, octet := range b[:len(b)-1] {
		if _, err := p.conn.Write([]byte{octet}); err != nil {
			return
		}
		p.s.poll()
		if p.s.provider.Counters().Late.Load() > late {
			return
		}
	}
}
