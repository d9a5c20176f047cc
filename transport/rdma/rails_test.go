package rdma_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/rdma"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/verbstest"
	"github.com/gorun-hpc/gorun/transport/transporttest"
)

// rails are the places of ranks on two networks. The first network has adapters, and the second one is TCP.
type rails struct{ first, second []place }

// config makes a rank of a test open both rails.
func (r *rails) config(c *rdma.Config) {
	first, second := r.first[c.Rank], r.second[c.Rank]
	c.Rails = []rdma.Rail{{Provider: first.provider, Interface: first.name, Fabric: "roce"}, {Provider: second.provider, Interface: second.name}}
}

// fragileRails returns rails whose first network behaves like InfiniBand and whose second network behaves like
// iWARP, both in memory. Tests break their connections by means of the returned scissors.
func fragileRails(n int) (*rails, []*scissors) {
	r := &rails{first: memory(verbstest.StyleInfiniBand, n), second: memory(verbstest.StyleIWARP, n)}
	var all []*scissors
	for i := range r.first {
		s := &scissors{Provider: r.first[i].provider, seed: uint64(i), events: make(chan provider.Event, 4)}
		r.first[i].provider = s
		all = append(all, s)
	}
	return r, all
}

// lines stores the lines that ranks log.
type lines struct {
	mu  sync.Mutex
	all []string
}

func (l *lines) log(line string) {
	l.mu.Lock()
	l.all = append(l.all, line)
	l.mu.Unlock()
}

// count returns how many lines contain a text.
func (l *lines) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for _, line := range l.all {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

// TestConformanceOnTwoRails runs the suite of package transporttest with two rails. In one variant the ranks use
// the first rail; in the other variant they have to use the second rail, because no connection is possible on
// the first rail.
func TestConformanceOnTwoRails(t *testing.T) {
	for name, second := range map[string]bool{"first": false, "second": true} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && second {
				t.Skip("the same code as with one rail: without -short")
			}
			transporttest.Run(t, func(tb testing.TB, ranks int) *transporttest.Fabric {
				tb.Helper()
				r := &rails{memory(verbstest.StyleInfiniBand, ranks), memory(verbstest.StyleIWARP, ranks)}
				return newWorld(tb, r.first, func(c *rdma.Config) {
					if r.config(c); second {
						c.Rails[0].Fabric = fmt.Sprint("island", c.Rank)
					}
				}).fabric()
			})
		})
	}
}

// TestFailoverUnderAStorm breaks connections of the first rail at random while ranks exchange messages, Gets and
// FetchAdds, so that the ranks change to TCP and back. The test checks that each message and each FetchAdd
// happens exactly once, that messages arrive in order, and that Gets return the right bytes. If no connection
// over TCP broke, the test runs another round.
func TestFailoverUnderAStorm(t *testing.T) {
	const stormsMax = 10
	for range stormsMax {
		if failoverUnderAStorm(t, rand.Uint64()) {
			return
		}
	}
	t.Fatal("nothing went by TCP")
}

// failoverUnderAStorm runs one round. It reports whether connections over TCP broke, too.
func failoverUnderAStorm(t *testing.T, seed uint64) bool {
	t.Helper()
	t.Logf("seed %#x", seed)
	r := &rails{first: memory(verbstest.StyleInfiniBand, 4), second: loopback(iwarp.New(iwarp.Config{}), 4)}
	var all []*scissors
	for i := range r.first {
		s := &scissors{Provider: r.first[i].provider, every: 60, seed: seed + uint64(i)}
		r.first[i].provider = s
		all = append(all, s)
	}
	cut := &scissors{Provider: r.second[0].provider, every: 120, seed: seed}
	for i := range r.second {
		r.second[i].provider = cut
	}
	ranks := newWorld(t, r.first, func(c *rdma.Config) {
		impatient(c)
		r.config(c)
		c.Recovery = time.Millisecond
	}).ranks(t)
	storm(t, ranks, rand.New(rand.NewPCG(seed, 1)))
	closeAll(t, ranks)
	cuts := int64(0)
	for _, s := range all {
		cuts += s.cuts.Load()
	}
	require.Positive(t, cuts, "no connection broke")
	return cut.cuts.Load() > 0
}

// stream sends n numbered messages of various lengths from one rank to another. The argument at is the number
// of messages after which stream calls the function in its last argument.
func stream(t *testing.T, ranks []*rank, from, to, n, at int, then func()) {
	t.Helper()
	e, first := ranks[from].to(to), ranks[to].next[from]
	for i := range n {
		if i == at {
			then()
		}
		number := first + uint64(i)
		length := min(i*37%5000, e.Caps().MaxEager)
		h := transport.Header{A: number, B: uint64(length)}
		require.NoError(t, drive(t, ranks, "send", func() error { return e.Send(h, numbered(number, length)) }))
	}
	pump(t, ranks, "all messages", func() bool { return ranks[to].next[from] == first+uint64(n) })
}

// TestAdapterIsRemoved removes the device of one rank in the middle of a stream of messages, with a Get, a Put
// and a FetchAdd in progress. The test checks that each message arrives once and in order, that the Get and the
// FetchAdd succeed, and that the Put fails with the reason unless it has ended before the removal. Memory that
// was exposed before the removal stays reachable.
func TestAdapterIsRemoved(t *testing.T) {
	for _, gone := range []int{0, 1} {
		t.Run(fmt.Sprint("of rank ", gone), func(t *testing.T) {
			r, cut := fragileRails(2)
			log := new(lines)
			ranks := newWorld(t, r.first, func(c *rdma.Config) {
				prompt(c)
				r.config(c)
				c.Log = log.log
			}).ranks(t)
			source, target, word := numbered(3, 5<<20), make([]byte, 5<<20), make([]uint64, 1)
			from, err := ranks[1].Expose(source, transport.AccessRead)
			require.NoError(t, err)
			into, err := ranks[1].Expose(target, transport.AccessWrite)
			require.NoError(t, err)
			at, err := ranks[1].Expose(bytesOfWords(word), transport.AccessAtomic)
			require.NoError(t, err)
			stream(t, ranks, 0, 1, 100, 0, func() {})
			require.Contains(t, ranks[0].Explain(1), "rdma by memory on 10.0.0.1 (")
			e, dst := ranks[0].to(1), make([]byte, len(source))
			get, put, add := ranks[0].token(), ranks[0].token(), ranks[0].token()
			stream(t, ranks, 0, 1, 200, 50, func() {
				require.NoError(t, e.Get(dst, from, get))
				require.NoError(t, e.Put(numbered(4, len(target)), into, put))
				require.NoError(t, e.FetchAdd(at, 5, add))
				cut[gone].events <- provider.Event{Kind: provider.EventRemoved}
			})
			pump(t, ranks, "the operations", func() bool { return len(ranks[0].done) == 3 })
			require.NoError(t, ranks[0].done[get])
			require.Equal(t, source, dst)
			if err := ranks[0].done[put]; err != nil {
				require.ErrorContains(t, err, "the connection was lost during the operation")
			} else { // the Put ended before the removal
				require.Equal(t, numbered(4, len(target)), target)
			}
			require.NoError(t, ranks[0].done[add])
			require.Equal(t, uint64(5), word[0])
			stream(t, ranks, 1, 0, 100, 0, func() {})

			again := ranks[0].token()
			require.NoError(t, drive(t, ranks, "put", func() error { return e.Put(numbered(5, len(target)), into, again) }))
			pump(t, ranks, "the second put", func() bool { _, ok := ranks[0].done[again]; return ok })
			require.NoError(t, ranks[0].done[again])
			require.Equal(t, numbered(5, len(target)), target)
			for _, k := range []transport.Key{from, into, at} {
				require.NoError(t, ranks[1].Conceal(k))
			}
			token := ranks[0].token()
			require.NoError(t, e.Get(dst, from, token))
			pump(t, ranks, "a get of what is concealed", func() bool { _, ok := ranks[0].done[token]; return ok })
			require.ErrorIs(t, ranks[0].done[token], transport.ErrBadKey)

			why := ""
			pump(t, ranks, "the second connection", func() bool { // the waits above may have ended before the removal
				why = ranks[gone].Explain(1 - gone)
				return strings.Contains(why, "connected 2 times")
			})
			require.Regexp(t, `; not 10\.0\.0\.\d: .*removed`, why)
			require.Contains(t, ranks[1-gone].Explain(gone), "; not 10.0.0.")
			require.Empty(t, append(ranks[0].downs, ranks[1].downs...))
			closeAll(t, ranks)
			require.Equal(t, 1, log.count("its connections are made again on other adapters"))
		})
	}
}

// TestLostWayIsTriedLast cuts a connection on an adapter that works. The test checks that both ends try the
// other rail next, and that Explain gives the reason.
func TestLostWayIsTriedLast(t *testing.T) {
	r, cut := fragileRails(2)
	ranks := newWorld(t, r.first, func(c *rdma.Config) {
		r.config(c)
		prompt(c)
		c.Recovery = patience
	}).ranks(t)
	stream(t, ranks, 0, 1, 300, 100, cut[0].cutAll)
	stream(t, ranks, 1, 0, 10, 0, func() {})
	for i, k := range ranks {
		require.Contains(t, k.Explain(1-i), "connected 2 times")
		require.Regexp(t, `; not 10\.0\.0\.\d: its connection was lost: `, k.Explain(1-i))
	}
	closeAll(t, ranks)
}

// TestChoiceOfTheRail checks that a rank uses the best rail that works, and that Explain says why the rank does
// not use the better ones.
func TestChoiceOfTheRail(t *testing.T) {
	nowhere := netip.MustParseAddrPort("10.7.7.7:7")
	for _, c := range []struct {
		name   string
		change func(c *rdma.Config)
		wish   string
	}{
		{"the first", func(*rdma.Config) {}, "CRC on, .* bulk by Read$"},
		{
			"another fabric", func(c *rdma.Config) { c.Rails[0].Fabric = fmt.Sprint("ib", c.Rank) },
			"; not 10.0.0.1: it is in fabric ib0, the peer's in ib1$",
		},
		{"the peer has none", func(c *rdma.Config) {
			if c.Rank == 1 {
				c.Rails = c.Rails[1:]
			}
		}, "; not 10.0.0.1: the peer has no adapter$"},
		{"no way to it", func(c *rdma.Config) {
			lookup := c.Lookup
			c.Lookup = func(rank int) ([]rdma.Location, error) {
				list, err := lookup(rank)
				if err == nil {
					list[0].Address = nowhere
				}
				return list, err
			}
		}, `; not 10.0.0.1: 10.7.7.7:7 on 10.0.0.1 \(\d+ attempts?\): no such host$`},
		{"it cannot be opened", func(c *rdma.Config) {
			if c.Rank == 0 {
				c.Rails[0].Provider, c.Rails[0].Interface, c.Rails[0].Optional = absentProvider{}, "mlx5_0", true
			}
		}, "; not mlx5_0: open absent .*no link$"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &rails{first: memory(verbstest.StyleInfiniBand, 2), second: memory(verbstest.StyleIWARP, 2)}
			ranks := newWorld(t, r.first, func(config *rdma.Config) {
				// The timeout of an attempt is long (patience). With a short timeout, an attempt on a rail that
				// works could fail on a busy machine.
				config.Attempt, config.Confirm, config.GiveUp, config.RetryMin = patience, patience, patience, time.Millisecond
				r.config(config)
				c.change(config)
			}).ranks(t)
			stream(t, ranks, 0, 1, 10, 0, func() {})
			require.Regexp(t, c.wish, ranks[0].Explain(1))
			closeAll(t, ranks)
		})
	}
}

// absentProvider is a provider that cannot open any adapter.
type absentProvider struct{ verbs.Provider }

func (absentProvider) Name() string { return "absent" }

func (absentProvider) Open(string, provider.Adapter) (provider.Device, error) {
	return nil, fmt.Errorf("%w: no link", provider.ErrInsufficientResources)
}

// TestFailedAdapterPinsNoArena has an optional adapter fail after it was opened. The test checks that the arena is then
// used as if there were no adapter that pins memory.
func TestFailedAdapterPinsNoArena(t *testing.T) {
	arena := &testArena{memory: make([]byte, 4<<20)}
	r := &rails{first: pinning(memory(verbstest.StyleInfiniBand, 1)), second: memory(verbstest.StyleIWARP, 1)}
	ranks := newWorld(t, r.first, func(c *rdma.Config) {
		r.config(c)
		c.Arena, c.Rails[0].Optional, c.Rails[0].Listen = arena, true, netip.MustParseAddrPort("10.7.7.7:7")
	}).ranks(t)
	require.Len(t, ranks[0].Locations(), 1)
	require.Same(t, arena, ranks[0].Arena())
	closeAll(t, ranks)
}

// TestFewRequestsAreGranted has an adapter grant fewer work requests than the rank asked for. The test checks
// that the rank does not exceed the grant, or reports how many requests a connection needs if the grant is too
// small.
func TestFewRequestsAreGranted(t *testing.T) {
	for grants, works := range map[int]bool{48: true, 16: false} {
		places := memory(verbstest.StyleIWARP, 2)
		places[0].provider = &scissors{Provider: places[0].provider, grants: grants}
		ranks := newWorld(t, places, func(c *rdma.Config) {
			if prompt(c); !works {
				c.GiveUp = 100 * time.Millisecond
			}
		}).ranks(t)
		if works {
			stream(t, ranks, 0, 1, 1000, 0, func() {})
			require.Empty(t, ranks[0].downs)
			require.NotContains(t, ranks[0].Explain(1), "times")
		} else {
			_ = drive(t, ranks, "send", func() error { return ranks[0].to(1).Send(transport.Header{}, nil) })
			pump(t, ranks, "the loss", func() bool { return len(ranks[0].downs) == 1 })
			require.ErrorContains(t, ranks[0].downs[0], "the adapter grants 16 requests, a connection needs")
		}
		closeAll(t, ranks)
	}
}

// TestLaterRailIsLookedAt has a rank take one message in each Poll while messages keep arriving on its first
// rail. The test checks that the rank also delivers a message that arrives on its second rail.
func TestLaterRailIsLookedAt(t *testing.T) {
	r := &rails{first: memory(verbstest.StyleInfiniBand, 3), second: memory(verbstest.StyleIWARP, 3)}
	ranks := newWorld(t, r.first, func(c *rdma.Config) {
		if r.config(c); c.Rank == 2 {
			c.Rails = c.Rails[1:]
		}
	}).ranks(t)
	ranks[0].check = func(int, transport.Header, []byte) {}
	for _, from := range []int{1, 2} {
		require.NoError(t, drive(t, ranks, "send", func() error { return ranks[from].to(0).Send(transport.Header{}, nil) }))
	}
	pump(t, ranks, "the first messages", func() bool { return ranks[0].arrivals == 2 })
	require.NoError(t, ranks[2].to(0).Send(transport.Header{}, nil))
	e := ranks[1].to(0)
	ranks[0].order = nil
	pump(t, ranks[1:], "the message on the other rail", func() bool {
		for i := 0; i < 8 && e.Send(transport.Header{}, nil) == nil; i++ {
			ranks[1].poll()
		}
		_, err := ranks[0].Poll(ranks[0], 1)
		require.NoError(t, err)
		require.Less(t, len(ranks[0].order), 100_000, "only the first rail is looked at")
		return slices.Contains(ranks[0].order, 2)
	})
	closeAll(t, ranks)
}
