package rdma_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
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

// striped makes a rank of a test open both rails as adapters that carry stripes.
func (r *rails) striped(c *rdma.Config) {
	r.config(c)
	c.Rails[0].Fabric, c.Rails[1].Fabric = "iwarp-a", "iwarp-b"
}

// pairOfRails returns two networks that connect the ranks, and the scissors with which tests cut their
// connections.
func pairOfRails(kind string, n int, seed uint64, every int64) (*rails, []*scissors) {
	r := &rails{}
	switch kind {
	case "tcp":
		r.first, r.second = loopback(iwarp.New(iwarp.Config{}), n), loopback(iwarp.New(iwarp.Config{}), n)
	case "pinning":
		r.first, r.second = pinning(memory(verbstest.StyleInfiniBand, n)), pinning(memory(verbstest.StyleInfiniBand, n))
	default:
		r.first, r.second = memory(verbstest.StyleInfiniBand, n), memory(verbstest.StyleIWARP, n)
	}
	var all []*scissors
	for at, places := range [][]place{r.first, r.second} {
		for i := range places {
			s := &scissors{Provider: places[i].provider, every: every, seed: seed + uint64(2*i+at), events: make(chan provider.Event, 4)}
			places[i].provider = s
			all = append(all, s)
		}
	}
	return r, all
}

// stripedRanks returns ranks with two rails that stripe transfers of at least 64 KiB.
func stripedRanks(t *testing.T, r *rails, n int, change func(c *rdma.Config)) []*rank {
	t.Helper()
	ranks := newWorld(t, r.first[:n], func(c *rdma.Config) {
		impatient(c)
		r.striped(c)
		c.CopyBelow = -1
		c.Recovery = time.Millisecond
		if change != nil {
			change(c)
		}
	}).ranks(t)
	for _, k := range ranks {
		k.StripeSmall(64<<10, 64<<10)
	}
	return ranks
}

// until repeats a transfer between ranks 0 and 1 until done returns true.
func until(t *testing.T, ranks []*rank, what string, begin func(token uint64) error, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !done(); {
		require.False(t, time.Now().After(deadline), "still waiting: %s: %s", what, ranks[0].Explain(1))
		token := ranks[0].token()
		require.NoError(t, drive(t, ranks, what, func() error { return begin(token) }))
		pump(t, ranks, what, func() bool { _, ok := ranks[0].done[token]; return ok })
		require.NoError(t, ranks[0].done[token])
	}
}

// TestBothRailsCarry checks that long Gets and Puts use both rails, that Explain says so, and that all bytes are
// right.
func TestBothRailsCarry(t *testing.T) {
	for _, kind := range []string{"memory", "pinning", "tcp"} {
		t.Run(kind, func(t *testing.T) {
			r, _ := pairOfRails(kind, 2, 1, 0)
			ranks := stripedRanks(t, r, 2, nil)
			length := 3<<20 + 12345
			if kind == "tcp" { // TCP's buffers can take many bytes before the key is known
				length *= 8
			}
			source, target := numbered(3, length), make([]byte, length)
			from, err := ranks[1].Expose(source, transport.AccessRead)
			require.NoError(t, err)
			into, err := ranks[1].Expose(target, transport.AccessWrite)
			require.NoError(t, err)
			e, dst := ranks[0].to(1), make([]byte, length)
			by := func(n int) func() bool {
				was, _ := ranks[0].Striped(1)
				return func() bool { b, _ := ranks[0].Striped(1); return b > was+n }
			}
			until(t, ranks, "get", func(token uint64) error { return e.Get(dst, from, token) }, by(length/4))
			require.Equal(t, source, dst)
			number := uint64(4)
			enough := by(length / 4)
			if kind == "tcp" { // a fast connection may carry all of a Put before the key is known
				enough = func() bool { return number > 4 }
			}
			until(t, ranks, "put", func(token uint64) error { number++; return e.Put(numbered(number, length), into, token) }, enough)
			require.Contains(t, ranks[0].Explain(1), ", striped with "+r.second[0].name+" (")
			require.NotContains(t, ranks[1].Explain(0), "striped")
			require.NoError(t, ranks[1].Conceal(from))
			token := ranks[0].token()
			require.NoError(t, drive(t, ranks, "get", func() error { return e.Get(dst, from, token) }))
			pump(t, ranks, "a get of what is concealed", func() bool { _, ok := ranks[0].done[token]; return ok })
			require.ErrorIs(t, ranks[0].done[token], transport.ErrBadKey)
			require.NoError(t, ranks[1].Conceal(into))
			closeAll(t, ranks)
		})
	}
}

// TestSideIsLostUnderTransfers breaks the side connection during a Get and a Put: at one end, by cutting all
// connections of an adapter, or by a port that goes down and up. The test checks that both operations succeed, that
// later transfers use a side connection again, and that the connection in use is never lost.
func TestSideIsLostUnderTransfers(t *testing.T) {
	r, cut := pairOfRails("memory", 2, 1, 0)
	ranks := stripedRanks(t, r, 2, nil)
	const length = 4 << 20
	source, target := numbered(3, length), make([]byte, length)
	key, err := ranks[1].Expose(source, transport.AccessRead)
	require.NoError(t, err)
	into, err := ranks[1].Expose(target, transport.AccessWrite)
	require.NoError(t, err)
	e, dst := ranks[0].to(1), make([]byte, length)
	require.NoError(t, drive(t, ranks, "send", func() error { return e.Send(transport.Header{}, nil) }))
	pump(t, ranks, "the first rail", func() bool { return onFirst(ranks[0]) }) // its first attempt may time out
	connects := ranks[0].Connects(1)
	for round := range 6 {
		was, _ := ranks[0].Striped(1)
		until(t, ranks, "get", func(token uint64) error { return e.Get(dst, key, token) }, func() bool {
			b, up := ranks[0].Striped(1)
			return b > was && up
		})
		payload := numbered(uint64(round+10), length)
		clear(dst)
		get, put := ranks[0].token(), ranks[0].token()
		require.NoError(t, drive(t, ranks, "get", func() error { return e.Get(dst, key, get) }))
		require.NoError(t, drive(t, ranks, "put", func() error { return e.Put(payload, into, put) }))
		for range round {
			ranks[0].poll()
			ranks[1].poll()
		}
		switch round % 3 {
		case 0:
			ranks[0].LoseSide(1)
		case 1:
			cut[2+round/3].cutAll()
		default:
			cut[2].events <- provider.Event{Kind: provider.EventPortDown}
			cut[2].events <- provider.Event{Kind: provider.EventPortUp}
		}
		pump(t, ranks, "both", func() bool { return len(ranks[0].done) == int(ranks[0].tokens) })
		require.NoError(t, ranks[0].done[get])
		require.NoError(t, ranks[0].done[put])
		require.Equal(t, source, dst)
		require.Equal(t, payload, target)
	}
	require.Equal(t, connects, ranks[0].Connects(1), "the connection in use was never lost")
	closeAll(t, ranks)
}

// deaf is a provider whose devices cannot listen.
type deaf struct{ verbs.Provider }

type deafDevice struct{ provider.Device }

func (d deaf) Open(name string, a provider.Adapter) (provider.Device, error) {
	device, err := d.Provider.Open(name, a)
	return deafDevice{device}, err
}

func (deafDevice) Listen(provider.ServicePointConfig) (provider.ServicePoint, error) {
	return nil, provider.ErrInsufficientResources
}

// TestNoSideWithoutTwoFabrics checks that transfers use one rail if the second adapters are in different
// fabrics, if the second rail is TCP, or if the second adapter could not be prepared. Only in the first case does a
// rank have two RDMA adapters. So only in this case can Explain say why they carry no stripes.
func TestNoSideWithoutTwoFabrics(t *testing.T) {
	for name, change := range map[string]func(c *rdma.Config){
		"islands": func(c *rdma.Config) { c.Rails[1].Fabric = fmt.Sprint("island", c.Rank) },
		"tcp":     func(c *rdma.Config) { c.Rails[1].Fabric = rdma.FabricTCP },
		"deaf":    func(c *rdma.Config) { c.Rails[1].Provider, c.Rails[1].Optional = deaf{c.Rails[1].Provider}, true },
	} {
		t.Run(name, func(t *testing.T) {
			r, _ := pairOfRails("memory", 2, 1, 0)
			ranks := stripedRanks(t, r, 2, change)
			source := numbered(3, 1<<20)
			key, err := ranks[1].Expose(source, transport.AccessRead)
			require.NoError(t, err)
			for range 20 {
				get(t, ranks, ranks[0], 1, key, source)
			}
			_, up := ranks[0].Striped(1)
			require.False(t, up)
			const why = ", not striped: no second working adapter is in a common fabric"
			require.Equal(t, name == "islands", strings.Contains(ranks[0].Explain(1), why), ranks[0].Explain(1))
			closeAll(t, ranks)
		})
	}
}

// TestConformanceOnStripes runs the suite of package transporttest with two rails that stripe all except short
// transfers.
func TestConformanceOnStripes(t *testing.T) {
	transporttest.Run(t, func(tb testing.TB, ranks int) *transporttest.Fabric {
		tb.Helper()
		r := &rails{memory(verbstest.StyleInfiniBand, ranks), memory(verbstest.StyleIWARP, ranks)}
		w := newWorld(tb, r.first, r.striped)
		for _, k := range w.transports {
			k.StripeSmall(4096, 1)
		}
		return w.fabric()
	})
}

// TestStripesUnderAStorm breaks connections of both rails at random while ranks exchange messages, Gets, Puts
// and FetchAdds. The test checks that each message and each FetchAdd happens exactly once, that messages arrive
// in order, and that Gets and Puts move the right bytes.
func TestStripesUnderAStorm(t *testing.T) {
	kinds := []string{"memory"}
	if os.Getenv("GORUN_SOAK") != "" {
		kinds = []string{"memory", "pinning", "tcp"}
	}
	seed := rand.Uint64()
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Logf("seed %#x", seed)
			r, all := pairOfRails(kind, 3, seed, 400)
			ranks := stripedRanks(t, r, 3, func(c *rdma.Config) {
				for i := range c.Rails {
					c.Rails[i].Provider = all[3*i+c.Rank]
				}
			})
			random := rand.New(rand.NewPCG(seed, 1))
			puts(t, ranks, random)
			storm(t, ranks, random)
			carried := 0
			for _, k := range ranks {
				for peer := range ranks {
					if peer != k.number {
						n, _ := k.Striped(peer)
						carried += n
					}
				}
			}
			cuts := int64(0)
			for _, s := range all {
				cuts += s.cuts.Load()
			}
			t.Logf("%d bytes went by side connections, %d connections broke", carried, cuts)
			require.Positive(t, carried)
			require.Positive(t, cuts)
			closeAll(t, ranks)
		})
	}
}

// puts writes to peers with several Puts and Gets in progress. It checks that a successful Put has written its
// bytes, that a failed Put gives the reason, and that no byte of a successful Put arrives after its end.
func puts(t *testing.T, ranks []*rank, random *rand.Rand) {
	t.Helper()
	const rounds, longest = 60, 1 << 20
	targets, keys := make([][]byte, len(ranks)), make([]transport.Key, len(ranks))
	for i, r := range ranks {
		var err error
		targets[i] = make([]byte, longest)
		keys[i], err = r.Expose(targets[i], transport.AccessRead|transport.AccessWrite)
		require.NoError(t, err)
	}
	for round := range rounds {
		from, to := random.IntN(len(ranks)), random.IntN(len(ranks))
		if from == to {
			continue
		}
		r, e, n := ranks[from], ranks[from].to(to), 1+random.IntN(longest)
		payload, dst := numbered(uint64(round), n), make([]byte, n)
		put, read := r.token(), r.token()
		require.NoError(t, drive(t, ranks, "put", func() error { return e.Put(payload, keys[to], put) }))
		require.NoError(t, drive(t, ranks, "get", func() error { return e.Get(dst, keys[to], read) }))
		pump(t, ranks, "the put", func() bool { _, ok := r.done[put]; return ok })
		if err := r.done[put]; err == nil {
			require.True(t, slices.Equal(payload, targets[to][:n]), "a Put that succeeded is in place")
		} else {
			require.ErrorContains(t, err, "the connection was lost during the operation")
		}
		// The owner now overwrites its memory. If a byte of the Put arrived later, the comparison would fail.
		own := numbered(uint64(round)+7, longest)
		copy(targets[to], own)
		pump(t, ranks, "the get", func() bool { _, ok := r.done[read]; return ok })
		require.NotErrorIs(t, r.done[read], transport.ErrBadKey)
		if r.done[put] == nil {
			require.True(t, slices.Equal(own, targets[to]), "a Write came after its Put")
		}
	}
	for i, r := range ranks {
		require.NoError(t, r.Conceal(keys[i]))
	}
}
