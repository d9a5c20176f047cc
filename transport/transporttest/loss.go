package transporttest

import (
	"errors"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport"
)

// lossRules are the rules of lost peers and of Close.
var lossRules = []rule{
	{"MarkDownIsReportedOnce", 3, testMarkDown},
	{"PendingBulkEndsBeforeTheLoss", 2, testLossEndsBulk},
	{"OperationsOnALostPeerFail", 2, testLostPeer},
	{"LossDoesNotDisturbOthers", 4, testLossOfOne},
	{"MarkDownIsSafeFromAnyGoroutine", 4, testMarkDownConcurrently},
	{"NothingComesFromALostPeer", 2, testSilenceOfTheLost},
	{"CloseIsAnOrderlyEnd", 3, testClose},
	{"SendToAClosedPeerSaysSo", 3, testSendToClosed},
	{"ClosedTransportSaysSo", 2, testClosed},
}

// errReaped is the cause that most tests of the suite pass to MarkDown.
var errReaped = errors.New("reaped by the suite")

func testMarkDown(r *rig) {
	r.connected(0, 1)
	m := r.ranks[0]
	m.transport.MarkDown(1, errReaped)
	m.transport.MarkDown(1, errors.New("reaped twice"))
	r.pump("the loss", func() bool { return len(m.downs) > 0 })
	m.transport.MarkDown(1, errReaped)
	r.quiet()
	require.Len(r, m.downs, 1)
	require.Equal(r, 1, m.downs[0].Peer)
	require.ErrorIs(r, m.downs[0], errReaped)
	require.ErrorIs(r, m.downs[0], transport.ErrPeerDown)
	require.Empty(r, r.ranks[2].downs, "a rank that was not told of the loss reports none")
}

// testLossEndsBulk relies on the type member, which fails the test if a completion arrives after
// the loss.
func testLossEndsBulk(r *rig) {
	e, caps := r.connected(0, 1)
	r.needs("get or put", caps.Get || caps.Put)
	const n = 1 << 20
	m := r.ranks[0]
	k := r.expose(1, make([]byte, n), transport.AccessRead|transport.AccessWrite)
	begun := 0
	for range 3 {
		token := m.nextToken()
		operation := func() error { return e.Get(make([]byte, n), k, token) }
		if !caps.Get {
			operation = func() error { return e.Put(make([]byte, n), k, token) }
		}
		if err := operation(); err == nil {
			begun++
		} else {
			require.ErrorIs(r, err, transport.ErrAgain)
		}
	}
	m.transport.MarkDown(1, errReaped)
	r.pump("the loss", func() bool { return len(m.downs) == 1 })
	require.Len(r, m.completions, begun)
	for _, c := range m.completions {
		if c.err != nil {
			require.ErrorIs(r, c.err, transport.ErrPeerDown)
		}
	}
}

func testLostPeer(r *rig) {
	e, caps := r.connected(0, 1)
	k := r.expose(1, alignedBytes(64), transport.AccessRead|transport.AccessWrite|transport.AccessAtomic)
	m := r.ranks[0]
	m.transport.MarkDown(1, errReaped)
	r.pump("the loss", func() bool { return len(m.downs) == 1 })
	buffer := make([]byte, 8)
	for _, op := range []struct {
		name string
		has  bool
		do   func() error
	}{
		{"send", true, func() error { return e.Send(transport.Header{}, buffer) }},
		{"get", caps.Get, func() error { return e.Get(buffer, k, m.nextToken()) }},
		{"put", caps.Put, func() error { return e.Put(buffer, k, m.nextToken()) }},
		{"fetch-add", caps.FetchAdd, func() error { return e.FetchAdd(k, 1, m.nextToken()) }},
	} {
		if !op.has {
			continue
		}
		err := op.do()
		require.ErrorIs(r, err, transport.ErrPeerDown, op.name)
		require.ErrorIs(r, err, errReaped, "%s: the cause is kept", op.name)
		var down *transport.PeerDown
		require.ErrorAs(r, err, &down, op.name)
		require.Equal(r, 1, down.Peer)
	}
	r.quiet()
	require.Empty(r, m.completions)
}

func testLossOfOne(r *rig) {
	const count = 100
	for i := range count {
		if i == count/2 {
			r.ranks[0].transport.MarkDown(1, errReaped)
		}
		r.send(0, 2, transport.Header{A: uint64(i)}, pattern(uint64(i), shortMessage))
		r.send(2, 3, transport.Header{A: uint64(i)}, nil)
		r.send(3, 0, transport.Header{A: uint64(i)}, pattern(uint64(i), 10))
	}
	for _, rank := range []int{2, 3, 0} {
		m := r.ranks[rank]
		r.pump("messages of the living", func() bool { return len(m.arrivals) == count })
		r.requireInOrder(m.arrivals)
	}
	r.pump("the loss", func() bool { return r.ranks[0].isDown(1) })
	require.Empty(r, r.ranks[2].downs)
	require.Empty(r, r.ranks[3].downs)
}

func testMarkDownConcurrently(r *rig) {
	m := r.ranks[0]
	for peer := 1; peer < len(r.ranks); peer++ {
		for range 3 {
			go m.transport.MarkDown(peer, errReaped)
		}
	}
	r.pump("every loss", func() bool { return len(m.downs) == len(r.ranks)-1 })
	r.quiet()
	require.Len(r, m.downs, len(r.ranks)-1)
}

// testSilenceOfTheLost relies on the type member, which fails the test if an event of a peer arrives after
// the peer's loss. The peer does not know that it was marked down, and continues to send.
func testSilenceOfTheLost(r *rig) {
	e, _ := r.connected(1, 0)
	r.connected(0, 1)
	m := r.ranks[0]
	for i := range 5 {
		r.drive("send", func() error { return e.Send(transport.Header{A: uint64(i)}, nil) })
	}
	m.transport.MarkDown(1, errReaped)
	r.pump("the loss", func() bool { return len(m.downs) == 1 })
	for i := range 100 {
		if err := e.Send(transport.Header{A: uint64(i)}, []byte("from the grave")); err != nil {
			break
		}
	}
	r.quiet()
	for i, a := range m.arrivals {
		require.Equal(r, uint64(i), a.header.A, "what arrived before the loss is in order")
	}
}

func testClose(r *rig) {
	r.connected(1, 2)
	r.connected(2, 0)
	const count = 20
	for i := range count {
		r.send(1, 0, transport.Header{A: uint64(i)}, pattern(uint64(i), shortMessage))
	}
	require.NoError(r, r.ranks[1].close())
	m := r.ranks[0]
	r.pump("what was sent before the end", func() bool { return len(m.arrivals) == count })
	r.send(2, 0, transport.Header{A: count}, nil)
	r.pump("a message of another", func() bool { return len(m.arrivals) == count+1 })
	r.quiet()
	r.requireInOrder(m.arrivals)
	require.Empty(r, m.downs, "an orderly end is no loss")
	require.Empty(r, r.ranks[2].downs)
}

// testSendToClosed sends messages to a closed peer until Send returns an error. One sender has sent a message
// to the peer before, and the other sender has not. A Send may succeed while the lane has room. The second
// sender, which has sent no earlier message, may count the peer as lost.
func testSendToClosed(r *rig) {
	const mostSends = 1 << 20
	r.connected(0, 1)
	require.NoError(r, r.ranks[1].close())
	for _, rank := range []int{0, 2} {
		var err error
		sends := 0
		for ; err == nil && sends < mostSends; sends++ {
			err = r.attempt("send to a closed peer", func() error {
				e, err := r.ranks[rank].transport.Endpoint(1)
				if err != nil {
					return err
				}
				return e.Send(transport.Header{A: uint64(sends)}, nil)
			})
		}
		if rank != 2 || !errors.Is(err, transport.ErrPeerDown) {
			require.ErrorIs(r, err, transport.ErrClosed)
			require.NotErrorIs(r, err, transport.ErrPeerDown)
		} else {
			require.Len(r, r.ranks[2].downs, 1)
			require.Equal(r, 1, r.ranks[2].downs[0].Peer)
		}
		var op *transport.OpError
		require.ErrorAs(r, err, &op)
		require.Equal(r, 1, op.Peer)
	}
	r.quiet()
	require.Empty(r, r.ranks[0].downs)
	r.send(0, 2, transport.Header{A: 7}, nil)
	r.pump("a message among the living", func() bool { return len(r.ranks[2].arrivals) == 1 })
}

func testClosed(r *rig) {
	e, _ := r.connected(0, 1)
	m := r.ranks[0]
	require.NoError(r, m.close())
	require.ErrorIs(r, e.Send(transport.Header{}, nil), transport.ErrClosed)
	_, err := m.transport.Poll(m, pollBudget)
	require.ErrorIs(r, err, transport.ErrClosed)
	_, err = m.transport.Expose(make([]byte, 8), transport.AccessRead)
	require.ErrorIs(r, err, transport.ErrClosed)
	require.False(r, m.transport.Arm())
	m.transport.MarkDown(1, errReaped)
	require.ErrorIs(r, m.close(), transport.ErrClosed)
}
