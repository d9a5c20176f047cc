package rdma_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/rdma"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/verbstest"
)

// patience is the timeout of a test that would otherwise hang. No result depends on its length.
const patience = 60 * time.Second

// rank drives one transport of a world and records what this transport delivers and reports.
type rank struct {
	testing.TB
	*rdma.Transport
	sleeper transport.Sleeper
	number  int
	// next is, for each peer, the number that its next message has to have.
	next     []uint64
	done     map[uint64]error
	values   map[uint64]uint64
	downs    []*transport.PeerDown
	tokens   uint64
	arrivals int
	// order lists the sender of each message in the order of arrival.
	order []int
	// check, if not nil, replaces the default check of the messages that arrive.
	check func(peer int, h transport.Header, payload []byte)
}

func (w *world) ranks(tb testing.TB) []*rank {
	tb.Helper()
	list := make([]*rank, len(w.transports))
	for i, t := range w.transports {
		list[i] = &rank{
			TB: tb, Transport: t, sleeper: w.sleepers[i], number: i, next: make([]uint64, len(w.transports)),
			done: map[uint64]error{}, values: map[uint64]uint64{},
		}
	}
	return list
}

func (r *rank) Arrive(peer int, h transport.Header, payload []byte) {
	r.arrivals++
	r.order = append(r.order, peer)
	if r.check != nil {
		r.check(peer, h, payload)
		return
	}
	if h.A != r.next[peer] || len(payload) != int(h.B) || !slices.Equal(payload, numbered(h.A, len(payload))) {
		r.Errorf("rank %d: message %d of %d bytes from rank %d, message %d is due", r.number, h.A, len(payload), peer, r.next[peer])
	}
	r.next[peer]++
}

func (r *rank) Completed(_ int, token, value uint64, err error) {
	if _, twice := r.done[token]; twice {
		r.Errorf("rank %d: operation %d ended twice", r.number, token)
	}
	r.done[token], r.values[token] = err, value
}

func (r *rank) Down(d *transport.PeerDown) { r.downs = append(r.downs, d) }

func (r *rank) poll() int {
	n, err := r.Poll(r, 64)
	if err != nil {
		r.Errorf("rank %d: %v", r.number, err)
	}
	return n
}

func (r *rank) token() uint64 {
	r.tokens++
	return r.tokens
}

func (r *rank) to(peer int) transport.Endpoint {
	e, err := r.Endpoint(peer)
	require.NoError(r, err)
	return e
}

// numbered returns the payload of message n.
func numbered(n uint64, length int) []byte {
	b := make([]byte, length)
	for i := range b {
		b[i] = byte(n) + byte(i)
	}
	return b
}

// pump polls all ranks until done returns true.
func pump(tb testing.TB, ranks []*rank, what string, done func() bool) {
	tb.Helper()
	for deadline := time.Now().Add(patience); !done(); {
		events := 0
		for _, r := range ranks {
			events += r.poll()
		}
		if tb.Failed() {
			tb.FailNow()
		}
		if events == 0 {
			require.False(tb, time.Now().After(deadline), "still waiting: %s", what)
			ranks[0].sleeper.Yield()
		}
	}
}

// drive repeats an operation, polling all ranks, until the operation no longer returns ErrAgain.
func drive(tb testing.TB, ranks []*rank, what string, f func() error) error {
	tb.Helper()
	var err error
	pump(tb, ranks, what, func() bool {
		err = f()
		return !errors.Is(err, transport.ErrAgain)
	})
	return err
}

func closeAll(tb testing.TB, ranks []*rank) {
	tb.Helper()
	for _, r := range ranks {
		require.NoError(tb, r.Close())
	}
}

// providers returns the kinds of networks whose connections the tests of losses break.
func providers(cut func(verbs.Provider) *scissors) map[string]func(n int) []place {
	return map[string]func(n int) []place{
		"memory": func(n int) []place {
			places := memory(verbstest.StyleIWARP, n)
			for i := range places {
				places[i].provider = cut(places[i].provider)
			}
			return places
		},
		"copies": func(n int) []place {
			places := pinning(memory(verbstest.StyleInfiniBand, n))
			for i := range places {
				places[i].provider = cut(places[i].provider)
			}
			return places
		},
		"tcp": func(n int) []place { return loopback(cut(iwarp.New(iwarp.Config{})), n) },
	}
}

// prompt configures a short pause between attempts to connect. The attempts keep their default timeouts, so
// that no attempt fails because the machine is busy: a test can count the connections.
func prompt(c *rdma.Config) {
	c.RetryMin = time.Millisecond
}

// impatient configures short timeouts, so that failed attempts to connect end soon. On a busy machine attempts
// can also fail that would succeed later.
func impatient(c *rdma.Config) {
	prompt(c)
	c.Attempt, c.Confirm = 200*time.Millisecond, 200*time.Millisecond
	c.CopyBelow = 1 << 20 // applies where registrations are expensive
}

// TestNothingIsLostOrRepeatedWhenConnectionsBreak breaks connections at random while ranks exchange messages,
// Gets and FetchAdds. The test checks that each message and each FetchAdd happens exactly once, that messages
// arrive in order, and that a successful Get returns the right bytes.
func TestNothingIsLostOrRepeatedWhenConnectionsBreak(t *testing.T) {
	seed := rand.Uint64()
	number := uint64(0)
	cut := func(p verbs.Provider) *scissors {
		number++
		return &scissors{Provider: p, every: 60, seed: seed + number}
	}
	for name, places := range providers(cut) {
		t.Run(name, func(t *testing.T) {
			t.Logf("seed %#x", seed)
			list := places(4)
			ranks := newWorld(t, list, impatient).ranks(t)
			for _, r := range ranks[:2] {
				r.HoldBatches()
			}
			storm(t, ranks, rand.New(rand.NewPCG(seed, 1)))
			all := 0
			for _, r := range ranks {
				lent, copied := r.Bounces()
				require.Zero(t, lent, "all bounce buffers are returned")
				all += copied
			}
			require.Equal(t, name == "copies", all > 0)
			closeAll(t, ranks)
			cuts := int64(0)
			seen := map[*scissors]bool{}
			for _, p := range list {
				if s := p.provider.(*scissors); !seen[s] {
					seen[s] = true
					cuts += s.cuts.Load()
				}
			}
			require.Positive(t, cuts, "no connection broke")
			t.Logf("%d connections broke", cuts)
		})
	}
}

// storm sends messages and makes Gets between random pairs of ranks, and makes FetchAdds on a word of rank 0.
func storm(t *testing.T, ranks []*rank, random *rand.Rand) {
	t.Helper()
	const rounds, longest = 400, 3 << 20
	source, word := numbered(9, longest), make([]uint64, 1)
	keys := make([]transport.Key, len(ranks))
	counter, err := ranks[0].Expose(bytesOfWords(word), transport.AccessAtomic)
	require.NoError(t, err)
	for i, r := range ranks {
		keys[i], err = r.Expose(source, transport.AccessRead)
		require.NoError(t, err)
	}
	sent, added := make([][]uint64, len(ranks)), uint64(0)
	adds := map[[2]uint64]bool{}
	for i := range sent {
		sent[i] = make([]uint64, len(ranks))
	}
	for range rounds {
		from, to := random.IntN(len(ranks)), random.IntN(len(ranks))
		if from == to {
			continue
		}
		r, e := ranks[from], ranks[from].to(to)
		n := random.IntN(1 + e.Caps().MaxEager>>random.IntN(10))
		h := transport.Header{A: sent[from][to], B: uint64(n)}
		require.NoError(t, drive(t, ranks, "send", func() error { return e.Send(h, numbered(h.A, n)) }))
		sent[from][to]++
		if random.IntN(8) == 0 {
			get(t, ranks, r, to, keys[to], source[:random.IntN(longest)])
		}
		if random.IntN(8) == 0 && from != 0 {
			token := r.token()
			require.NoError(t, drive(t, ranks, "fetch-add", func() error { return r.to(0).FetchAdd(counter, 3, token) }))
			adds[[2]uint64{uint64(from), token}] = true
			added += 3
		}
	}
	pump(t, ranks, "all messages", func() bool {
		for to, r := range ranks {
			for from := range ranks {
				if r.next[from] != sent[from][to] {
					return false
				}
			}
		}
		for at := range adds {
			if _, ok := ranks[at[0]].done[at[1]]; !ok {
				return false
			}
		}
		return true
	})
	values := []uint64{}
	for at := range adds {
		require.NoError(t, ranks[at[0]].done[at[1]])
		values = append(values, ranks[at[0]].values[at[1]])
	}
	slices.Sort(values)
	for i, v := range values {
		require.Equal(t, uint64(3*i), v, "every old value is seen once")
	}
	require.Equal(t, added, word[0])
	for _, r := range ranks {
		require.Empty(t, r.downs)
	}
}

// get repeats a Get of a peer's memory until the Get succeeds.
func get(t *testing.T, ranks []*rank, r *rank, peer int, k transport.Key, want []byte) {
	t.Helper()
	for {
		token, dst := r.token(), make([]byte, len(want))
		require.NoError(t, drive(t, ranks, "get", func() error { return r.to(peer).Get(dst, k, token) }))
		pump(t, ranks, "the bytes", func() bool { _, ok := r.done[token]; return ok })
		if err := r.done[token]; err != nil {
			require.NotErrorIs(t, err, transport.ErrBadKey)
			continue
		}
		require.Equal(t, want, dst)
		return
	}
}

// TestPutIsNotRepeated breaks the connection during a Put. The test checks that the Put fails with the reason,
// and that the next operations of the two ranks succeed.
func TestPutIsNotRepeated(t *testing.T) {
	network := memory(verbstest.StyleIWARP, 2)
	s := &scissors{Provider: network[1].provider}
	network[1].provider = s
	ranks := newWorld(t, network, prompt).ranks(t)
	target := make([]byte, 8<<20)
	k, err := ranks[1].Expose(target, transport.AccessWrite)
	require.NoError(t, err)
	e := ranks[0].to(1)
	require.NoError(t, drive(t, ranks, "send", func() error { return e.Send(transport.Header{}, nil) }))
	token := ranks[0].token()
	require.NoError(t, e.Put(numbered(1, len(target)), k, token))
	s.cutAll()
	pump(t, ranks, "the end of the put", func() bool { _, ok := ranks[0].done[token]; return ok })
	var op *transport.OpError
	require.ErrorAs(t, ranks[0].done[token], &op)
	require.Equal(t, "put rdma rank 1: the connection was lost during the operation", op.Error())

	again := ranks[0].token()
	require.NoError(t, drive(t, ranks, "put", func() error { return e.Put(numbered(2, len(target)), k, again) }))
	pump(t, ranks, "the second put", func() bool { _, ok := ranks[0].done[again]; return ok })
	require.NoError(t, ranks[0].done[again])
	require.Equal(t, numbered(2, len(target)), target)
	require.Contains(t, ranks[0].Explain(1), "connected 2 times")
	closeAll(t, ranks)
}

// TestIdleRanksReconnect checks that ranks connect again when their connection is lost, although neither rank
// sends. Without a connection they would not notice the death of the peer.
func TestIdleRanksReconnect(t *testing.T) {
	network := memory(verbstest.StyleIWARP, 2)
	s := &scissors{Provider: network[1].provider}
	network[1].provider = s
	ranks := newWorld(t, network, prompt).ranks(t)
	require.NoError(t, drive(t, ranks, "send", func() error { return ranks[0].to(1).Send(transport.Header{}, nil) }))
	pump(t, ranks, "the message", func() bool { return ranks[1].arrivals == 1 })
	for times := 2; times < 6; times++ {
		s.cutAll()
		pump(t, ranks, "the next connection", func() bool {
			again := fmt.Sprintf("connected %d times", times)
			return strings.HasSuffix(ranks[0].Explain(1), again) && strings.HasSuffix(ranks[1].Explain(0), again)
		})
	}
	require.Empty(t, ranks[0].downs)
	closeAll(t, ranks)
}

// TestDeathOfAPeerIsSeen makes the adapter of a rank vanish without a goodbye. The test checks that the peers
// soon report this rank as down, because nothing listens at its address any more.
func TestDeathOfAPeerIsSeen(t *testing.T) {
	for name, places := range providers(func(p verbs.Provider) *scissors { return &scissors{Provider: p} }) {
		t.Run(name, func(t *testing.T) {
			ranks := newWorld(t, places(3), impatient).ranks(t)
			for _, peer := range []int{1, 2} {
				require.NoError(t, drive(t, ranks, "send", func() error { return ranks[0].to(peer).Send(transport.Header{}, nil) }))
			}
			pump(t, ranks, "the messages", func() bool { return ranks[1].arrivals+ranks[2].arrivals == 2 })
			token := ranks[0].token()
			word := make([]uint64, 1)
			k, err := ranks[1].Expose(bytesOfWords(word), transport.AccessAtomic)
			require.NoError(t, err)
			require.NoError(t, ranks[0].to(1).FetchAdd(k, 1, token))
			require.NoError(t, ranks[1].Vanish())
			living := []*rank{ranks[0], ranks[2]}
			pump(t, living, "the loss", func() bool { return len(ranks[0].downs) == 1 })
			require.Equal(t, 1, ranks[0].downs[0].Peer)
			require.ErrorIs(t, ranks[0].done[token], transport.ErrPeerDown, "the operation in progress ends before the loss is reported")
			require.NoError(t, drive(t, living, "send", func() error { return ranks[0].to(2).Send(transport.Header{A: 1}, nil) }))
			pump(t, living, "a message of the living", func() bool { return ranks[2].arrivals == 2 })
			closeAll(t, living)
		})
	}
}
