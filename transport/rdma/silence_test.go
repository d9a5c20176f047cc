package rdma_test

import (
	"errors"
	"net/netip"
	goruntime "runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/rdma"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/verbstest"
)

// diary stores the lines that a transport logs.
type diary struct {
	mu    sync.Mutex
	lines []string
}

func (d *diary) log(line string) {
	d.mu.Lock()
	d.lines = append(d.lines, line)
	d.mu.Unlock()
}

// await waits until the lines contain a text. Another goroutine writes the lines.
func (d *diary) await(t *testing.T, text string) {
	t.Helper()
	for end := time.Now().Add(patience); !strings.Contains(d.all(), text); goruntime.Gosched() {
		require.True(t, time.Now().Before(end), "no %q in %q", text, d.all())
	}
}

// all returns all lines so far.
func (d *diary) all() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return strings.Join(d.lines, "\n")
}

// reach is the value of GiveUp in tests where the peer's operating system has to accept a TCP connection within
// this time.
const reach = 500 * time.Millisecond

// TestSilentPeerIsWaitedFor has the peer's operating system accept connection requests that the peer does not
// answer. The test checks that the rank waits as long as the agents do not report the peer as ended, and that
// Log and Explain say so. When the peer answers, the ranks connect.
func TestSilentPeerIsWaitedFor(t *testing.T) {
	var d diary
	p := newPair(t, 0, func(c *rdma.Config) {
		c.Supervised, c.Attempt, c.GiveUp, c.Log = true, patience, reach, d.log
	})
	require.Empty(t, p.r.Silence(1))
	require.Empty(t, p.r.Silence(0), "the rank itself")
	p.pump("the silence", func() bool { return p.r.Silence(1) != "" })
	d.await(t, "has not answered")
	require.Regexp(t, `^rdma: rank 1 has not answered for \S+, but its host accepts connections: this rank waits for it \(connection 127\.0\.0\.1:\d+: TIMED_OUT\)`, d.all())
	require.Regexp(t, `^no answer for \S+, but its host accepts connections$`, p.r.Silence(1))
	require.Regexp(t, `, not connected so far, no answer for \S+, but its host accepts connections$`, p.r.Explain(1))
	require.Empty(t, p.r.downs)

	for answered := false; !answered; {
		w, asked := p.dialled()
		_, _ = w.conn.Write(reply(1, asked)) // the rank may have given this connection up
		w.until("the first message, or the end", func() bool { return len(w.in) > 0 || w.eof })
		answered = len(w.in) > 0
	}
	p.pump("its end", func() bool { return p.r.Silence(1) == "" })
	d.await(t, "\nrdma: rank 1 answers")
	p.pump("the connection", func() bool { return strings.Contains(p.r.Explain(1), "window now") })
	require.NoError(t, p.r.Close())
}

// TestSilentPeerThatEnds checks that a rank stops waiting for a silent peer when the agent reports that the peer
// has ended.
func TestSilentPeerThatEnds(t *testing.T) {
	p := newPair(t, 0, func(c *rdma.Config) {
		c.Supervised, c.GiveUp, c.Departure = true, reach, time.Millisecond
	})
	p.pump("the silence", func() bool { return p.r.Silence(1) != "" })
	require.Empty(t, p.r.downs)
	p.r.MarkDown(1, errKilled)
	p.pump("the loss", func() bool { return len(p.r.downs) == 1 })
	require.ErrorIs(t, p.r.downs[0], errKilled)
	require.Empty(t, p.r.Silence(1))
	require.NoError(t, p.r.Close())
}

// TestOwnFailureIsNoAnswer has a rank fail to ask a silent peer again: the rank does not find the address of the
// peer, or its adapter makes no connection. The rank must give the peer up. It must not log that the peer answers.
func TestOwnFailureIsNoAnswer(t *testing.T) {
	for name, change := range map[string]func(c *rdma.Config, failing *atomic.Bool){
		"no address": func(c *rdma.Config, failing *atomic.Bool) {
			lookup := c.Lookup
			c.Lookup = func(rank int) ([]rdma.Location, error) {
				if failing.Load() {
					return nil, errCut
				}
				return lookup(rank)
			}
		},
		"no connection": func(c *rdma.Config, failing *atomic.Bool) {
			for i := range c.Rails {
				c.Rails[i].Provider = &scissors{Provider: c.Rails[i].Provider, full: failing}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			var d diary
			var failing atomic.Bool
			p := newPair(t, 0, func(c *rdma.Config) {
				c.Supervised, c.Attempt, c.GiveUp, c.Log = true, reach, reach, d.log
				change(c, &failing)
			})
			p.pump("the silence", func() bool { return p.r.Silence(1) != "" })
			failing.Store(true)
			p.pump("the loss", func() bool { return len(p.r.downs) == 1 })
			require.ErrorIs(t, p.r.downs[0], errCut)
			require.NoError(t, p.r.Close())
			require.Contains(t, d.all(), "has not answered")
			require.NotContains(t, d.all(), "rank 1 answers")
		})
	}
}

// TestPeersThatAreNotWaitedFor checks in which cases a rank does not wait for a silent peer. If no agent
// supervises the peer, nobody knows whether it lives. If no host accepts the connection, the reason is not a
// stopped process. If the peer has no address, the rank cannot connect.
func TestPeersThatAreNotWaitedFor(t *testing.T) {
	brief := func(c *rdma.Config) { c.GiveUp, c.RetryMax = 5*time.Millisecond, time.Millisecond }
	t.Run("nobody watches", func(t *testing.T) {
		p := newPair(t, 0, brief)
		p.pump("the loss", func() bool { return len(p.r.downs) == 1 })
		var unreached *rdma.UnreachedError
		require.ErrorAs(t, p.r.downs[0].Cause, &unreached)
		require.ErrorContains(t, unreached.Cause, "no connection within 5ms: ")
		require.NoError(t, p.r.Close())
	})
	t.Run("no host", func(t *testing.T) {
		r, _ := loneAt(t, memory(verbstest.StyleInfiniBand, 2), 2, func(c *rdma.Config) {
			brief(c)
			c.Supervised = true
			c.Lookup = func(int) ([]rdma.Location, error) {
				return at(netip.MustParseAddrPort("10.9.9.9:9")), nil
			}
		})
		require.ErrorIs(t, r.to(1).Send(transport.Header{}, nil), transport.ErrAgain)
		pump(t, []*rank{r}, "the loss", func() bool { return len(r.downs) == 1 })
		require.Regexp(t, `^no connection within \S+: 10\.9\.9\.9:9 \(\d+ attempts?\): no such host; a firewall may drop .*gorun -net `, r.downs[0].Cause.Error())
		require.NoError(t, r.Close())
	})
	t.Run("no address", func(t *testing.T) {
		missing := errors.New("no card")
		r, _ := loneAt(t, memory(verbstest.StyleInfiniBand, 2), 2, func(c *rdma.Config) {
			brief(c)
			c.Supervised = true
			c.Lookup = func(int) ([]rdma.Location, error) { return nil, missing }
		})
		require.ErrorIs(t, r.to(1).Send(transport.Header{}, nil), transport.ErrAgain)
		pump(t, []*rank{r}, "the loss", func() bool { return len(r.downs) == 1 })
		require.ErrorIs(t, r.downs[0], missing)
		require.NoError(t, r.Close())
	})
}
