package transporttest

import (
	"errors"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport"
)

// messageRules are the rules of small messages.
var messageRules = []rule{
	{"NameIsShortAndLowerCase", 2, testName},
	{"EndpointIsTheSameEachTime", 3, testEndpoint},
	{"ReachSaysWhyNot", 2, testReach},
	{"CapsAgreeWithEachOther", 2, testCaps},
	{"MessagesOfOnePairArriveInOrder", 2, testOrder},
	{"RefusedSendHasNoEffect", 2, testRefusal},
	{"SendAboveMaxEagerIsTooLong", 2, testTooLong},
	{"EmptyMessagesArrive", 2, testEmpty},
	{"HeaderArrivesUnchanged", 2, testHeader},
	{"PayloadIsCopiedOnReturn", 2, testPayloadReuse},
	{"HandlerMaySend", 2, testSendInHandler},
	{"PollKeepsToItsBudget", 2, testBudget},
	{"PollOfAnIdleRankReturnsZero", 2, testIdle},
}

func testName(r *rig) {
	name := r.ranks[0].transport.Name()
	require.NotEmpty(r, name)
	require.Less(r, len(name), 16)
	require.Equal(r, strings.ToLower(name), name)
}

func testEndpoint(r *rig) {
	require.Same(r, r.endpoint(0, 1), r.endpoint(0, 1))
	require.NotSame(r, r.endpoint(0, 1), r.endpoint(0, 2))
}

func testReach(r *rig) {
	require.NoError(r, r.ranks[0].transport.Reach(1))
	require.NoError(r, r.ranks[1].transport.Reach(0))
	for _, stranger := range []int{-1, 2, 1 << 30} {
		require.ErrorIs(r, r.ranks[0].transport.Reach(stranger), transport.ErrNotSupported)
		_, err := r.ranks[0].transport.Endpoint(stranger)
		require.Error(r, err)
	}
}

func testCaps(r *rig) {
	_, caps := r.connected(0, 1)
	require.Positive(r, caps.MaxEager)
	require.Positive(r, caps.EagerBest)
	require.LessOrEqual(r, caps.EagerBest, caps.MaxEager)
	require.LessOrEqual(r, caps.EagerBoth, caps.EagerBest)
	require.Equal(r, caps.Get, caps.MaxReads > 0, "Get and MaxReads > 0")
}

// edgeSizes returns payload sizes at and near every boundary to which a transport may round: powers
// of two, EagerBest and MaxEager.
func edgeSizes(caps transport.Caps) []int {
	sizes := []int{0, 1, 2, 7, 8, 9}
	for n := 16; n <= caps.MaxEager; n *= 2 {
		sizes = append(sizes, n-9, n-1, n, n+1)
	}
	sizes = append(sizes, caps.EagerBest-1, caps.EagerBest, caps.EagerBest+1, caps.MaxEager-1, caps.MaxEager)
	slices.Sort(sizes)
	return slices.DeleteFunc(slices.Compact(sizes), func(n int) bool { return n < 0 || n > caps.MaxEager })
}

func testOrder(r *rig) {
	_, caps := r.connected(0, 1)
	sizes, random := edgeSizes(caps), r.random()
	const rounds = 8
	sent := make([]int, 0, rounds*len(sizes))
	for range rounds {
		random.Shuffle(len(sizes), func(i, j int) { sizes[i], sizes[j] = sizes[j], sizes[i] })
		for _, n := range sizes {
			r.send(0, 1, transport.Header{A: uint64(len(sent)), B: uint64(n)}, pattern(uint64(len(sent)), n))
			sent = append(sent, n)
		}
	}
	r.pump("all messages", func() bool { return len(r.ranks[1].arrivals) >= len(sent) })
	r.quiet()
	require.Len(r, r.ranks[1].arrivals, len(sent))
	for i, a := range r.ranks[1].arrivals {
		require.Equal(r, 0, a.peer)
		require.Equal(r, transport.Header{A: uint64(i), B: uint64(sent[i])}, a.header)
		require.Len(r, a.payload, sent[i])
		r.requirePattern(a.payload, uint64(i))
	}
}

// testRefusal sends to a receiver that does not poll, until the lane is full and Send keeps returning ErrAgain.
// Then the receiver polls, and exactly the accepted messages must arrive.
func testRefusal(r *rig) {
	const patienceSends, mostSends = 256, 1 << 20
	e, caps := r.connected(0, 1)
	accepted, refusals := 0, 0
	for refusals < patienceSends && accepted < mostSends {
		n := accepted % (caps.MaxEager + 1)
		err := e.Send(transport.Header{A: uint64(accepted)}, pattern(uint64(accepted), n))
		if err == nil {
			accepted, refusals = accepted+1, 0
			continue
		}
		require.ErrorIs(r, err, transport.ErrAgain)
		refusals++
		r.ranks[0].poll()
	}
	require.Less(r, accepted, mostSends, "a transport may not queue without bound")
	r.pump("what was accepted", func() bool { return len(r.ranks[1].arrivals) >= accepted })
	r.quiet()
	require.Len(r, r.ranks[1].arrivals, accepted)
	r.requireInOrder(r.ranks[1].arrivals)
}

func testTooLong(r *rig) {
	e, caps := r.connected(0, 1)
	err := r.attempt("too long a message", func() error { return e.Send(transport.Header{}, make([]byte, caps.MaxEager+1)) })
	require.ErrorIs(r, err, transport.ErrTooLong)
	require.False(r, errors.Is(err, transport.ErrAgain))
	r.send(0, 1, transport.Header{A: 1}, pattern(1, caps.MaxEager))
	r.pump("the longest message", func() bool { return len(r.ranks[1].arrivals) > 0 })
	r.quiet()
	require.Len(r, r.ranks[1].arrivals, 1)
	r.requirePattern(r.ranks[1].arrivals[0].payload, 1)
	require.Len(r, r.ranks[1].arrivals[0].payload, caps.MaxEager)
}

func testEmpty(r *rig) {
	const count = 200
	for i := range count {
		payload := []byte{}
		if i%2 == 0 {
			payload = nil
		}
		r.send(0, 1, transport.Header{A: uint64(i)}, payload)
	}
	r.pump("empty messages", func() bool { return len(r.ranks[1].arrivals) == count })
	for i, a := range r.ranks[1].arrivals {
		require.Equal(r, uint64(i), a.header.A)
		require.Empty(r, a.payload)
	}
}

func testHeader(r *rig) {
	headers := []transport.Header{
		{},
		{A: ^uint64(0), B: ^uint64(0), C: ^uint64(0)},
		{A: 1, B: 2, C: 3},
		{A: 1 << 63, B: 1 << 31, C: 1},
	}
	for _, h := range headers {
		r.send(1, 0, h, []byte("x"))
	}
	r.pump("headers", func() bool { return len(r.ranks[0].arrivals) == len(headers) })
	for i, a := range r.ranks[0].arrivals {
		require.Equal(r, headers[i], a.header)
	}
}

func testPayloadReuse(r *rig) {
	_, caps := r.connected(0, 1)
	sizes := edgeSizes(caps)
	payload := make([]byte, caps.MaxEager)
	for i, n := range sizes {
		writePattern(payload[:n], uint64(i))
		r.send(0, 1, transport.Header{}, payload[:n])
		spoil(payload)
	}
	r.pump("messages", func() bool { return len(r.ranks[1].arrivals) == len(sizes) })
	for i, a := range r.ranks[1].arrivals {
		require.Len(r, a.payload, sizes[i])
		r.requirePattern(a.payload, uint64(i))
	}
}

// testSendInHandler makes both ranks answer from within Arrive. If Send refuses an answer, the rank sends it
// again after the Poll, as an engine does.
func testSendInHandler(r *rig) {
	const rounds = 500
	var kept []func() error
	last := uint64(0)
	answer := func(m *member) func(int, transport.Header, []byte) {
		return func(peer int, h transport.Header, payload []byte) {
			last = max(last, h.A)
			if h.A == rounds {
				return
			}
			reply := slices.Clone(payload)
			send := func() error {
				e, err := m.transport.Endpoint(peer)
				if err != nil {
					return err
				}
				return e.Send(transport.Header{A: h.A + 1}, reply)
			}
			if err := send(); errors.Is(err, transport.ErrAgain) {
				kept = append(kept, send)
			} else if err != nil {
				r.Errorf("send in a handler: %v", err)
			}
		}
	}
	for _, m := range r.ranks {
		m.onArrive = answer(m)
	}
	r.send(0, 1, transport.Header{}, []byte("ball"))
	r.pump("the last answer", func() bool {
		kept = slices.DeleteFunc(kept, func(send func() error) bool { return !errors.Is(send(), transport.ErrAgain) })
		return last == rounds
	})
}

func testBudget(r *rig) {
	const count, budget = 10, 3
	r.connected(0, 1)
	for i := range count {
		r.drive("send", func() error {
			return r.endpoint(0, 1).Send(transport.Header{A: uint64(i)}, nil)
		})
	}
	m := r.ranks[1]
	require.LessOrEqual(r, len(m.arrivals), count)
	r.pump("messages in small helpings", func() bool {
		before := len(m.arrivals)
		events, err := m.transport.Poll(m, budget)
		require.NoError(r, err)
		require.LessOrEqual(r, len(m.arrivals)-before, budget)
		require.GreaterOrEqual(r, events, len(m.arrivals)-before)
		return len(m.arrivals) == count
	})
}

func testIdle(r *rig) {
	r.connected(0, 1)
	r.quiet()
	events, err := r.ranks[1].transport.Poll(r.ranks[1], pollBudget)
	require.NoError(r, err)
	require.Zero(r, events)
	require.Empty(r, r.ranks[1].arrivals)
}
