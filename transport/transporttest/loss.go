package transporttest

import (
	"errors"
	"slices"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport"
)

// lossRules are the rules of lost peers and of Close.
var lossRules = []rule{
	{"LossIsReportedOnce", 6, testLoss},
	{"PendingBulkEndsBeforeTheLoss", 3, testLossEndsBulk},
	{"OperationsOnALostPeerFail", 3, testLostPeer},
	{"LossDoesNotDisturbOthers", 4, testLossOfOne},
	{"MarkDownAndGiveUpAreSafeFromAnyGoroutine", 4, testLossConcurrently},
	{"NothingComesFromALostPeer", 4, testSilenceOfTheLost},
	{"CloseIsAnOrderlyEnd", 3, testClose},
	{"SendToAClosedPeerSaysSo", 3, testSendToClosed},
	{"ClosedTransportSaysSo", 2, testClosed},
}

// errLost is the cause that most tests of the suite pass to MarkDown and GiveUp.
var errLost = errors.New("lost by the suite")

// teller is a method by which a transport learns of the loss of a peer.
type teller func(t transport.Transport, peer int, cause error)

// tellers has the two methods of this type. A test that loses two peers uses one for each.
var tellers = []teller{transport.Transport.MarkDown, transport.Transport.GiveUp}

// loseBoth makes rank 0 lose ranks 1 and 2, and waits until both losses are reported.
func (r *rig) loseBoth() {
	r.Helper()
	m := r.ranks[0]
	for i, tell := range tellers {
		tell(m.transport, 1+i, errLost)
	}
	r.pump("the losses", func() bool { return len(m.downs) == len(tellers) })
}

// testLoss makes rank 0 lose ranks 1 to 4. For each of these ranks, it calls two methods in tellers, one after the
// other. There are four such pairs, and each rank gets another one. The calls are repeated after the losses were
// reported.
func testLoss(r *rig) {
	m := r.ranks[0]
	const lost = 4
	tell := func(again error) {
		for i := range lost {
			tellers[i%2](m.transport, 1+i, errLost)
			tellers[i/2](m.transport, 1+i, again)
		}
	}
	for i := range lost {
		r.connected(0, 1+i)
	}
	tell(errors.New("lost again"))
	r.pump("the losses", func() bool { return len(m.downs) >= lost })
	tell(errLost)
	r.quiet()
	require.Len(r, m.downs, lost)
	for _, down := range m.downs { // a member fails the test if a loss is reported twice
		require.ErrorIs(r, down, errLost)
		require.ErrorIs(r, down, transport.ErrPeerDown)
	}
	require.Empty(r, r.ranks[lost+1].downs, "a rank that was not told of the loss reports none")
}

// testLossEndsBulk relies on the type member, which fails the test if a completion arrives after
// the loss.
func testLossEndsBulk(r *rig) {
	const n = 1 << 20
	m := r.ranks[0]
	begun := 0
	for peer := 1; peer <= len(tellers); peer++ {
		e, caps := r.connected(0, peer)
		r.needs("get or put", caps.Get || caps.Put)
		k := r.expose(peer, make([]byte, n), transport.AccessRead|transport.AccessWrite)
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
	}
	r.loseBoth()
	require.Len(r, m.completions, begun)
	for _, c := range m.completions {
		if c.err != nil {
			require.ErrorIs(r, c.err, transport.ErrPeerDown)
		}
	}
}

func testLostPeer(r *rig) {
	var keys []transport.Key
	for peer := 1; peer <= len(tellers); peer++ {
		r.connected(0, peer)
		keys = append(keys, r.expose(peer, alignedBytes(64), transport.AccessRead|transport.AccessWrite|transport.AccessAtomic))
	}
	caps := r.endpoint(0, 1).Caps()
	r.loseBoth()
	for i, k := range keys {
		r.requireLost(1+i, caps, k)
	}
	r.quiet()
	require.Empty(r, r.ranks[0].completions)
}

// requireLost checks that the operations of rank 0 on a peer fail with the loss of the peer. k is the key of memory
// of the peer, and caps are the capabilities before the loss.
func (r *rig) requireLost(peer int, caps transport.Caps, k transport.Key) {
	r.Helper()
	e, m, buffer := r.endpoint(0, peer), r.ranks[0], make([]byte, 8)
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
		require.ErrorIs(r, err, errLost, "%s: the cause is kept", op.name)
		var down *transport.PeerDown
		require.ErrorAs(r, err, &down, op.name)
		require.Equal(r, peer, down.Peer)
	}
}

func testLossOfOne(r *rig) {
	const count = 100
	for i := range count {
		if i == count/2 {
			r.ranks[0].transport.MarkDown(1, errLost)
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

func testLossConcurrently(r *rig) {
	m := r.ranks[0]
	for peer := 1; peer < len(r.ranks); peer++ {
		for i := range 4 {
			go tellers[i%2](m.transport, peer, errLost)
		}
	}
	r.pump("every loss", func() bool { return len(m.downs) == len(r.ranks)-1 })
	r.quiet()
	require.Len(r, m.downs, len(r.ranks)-1)
}

// testSilenceOfTheLost relies on the type member, which fails the test if an event of a peer arrives after
// the peer's loss. The lost ranks 1 and 2 do not know of their loss and continue to send. The messages of rank 3
// arrive.
func testSilenceOfTheLost(r *rig) {
	const before, after = 5, 100
	lost := []int{1, 2}
	for _, peer := range lost {
		r.connected(peer, 0)
		r.connected(0, peer)
	}
	for _, peer := range lost {
		for i := range before {
			r.send(peer, 0, transport.Header{A: uint64(i)}, nil)
		}
	}
	m := r.ranks[0]
	r.loseBoth()
	for i := range after {
		for _, peer := range lost {
			_ = r.endpoint(peer, 0).Send(transport.Header{A: before + uint64(i)}, []byte("from the grave"))
		}
		r.send(3, 0, transport.Header{A: uint64(i)}, pattern(uint64(i), shortMessage))
	}
	from := func(peer int) []arrival {
		return slices.DeleteFunc(slices.Clone(m.arrivals), func(a arrival) bool { return a.peer != peer })
	}
	r.pump("messages of the living", func() bool { return len(from(3)) == after })
	r.quiet()
	r.requireInOrder(from(3))
	for _, peer := range lost {
		for i, a := range from(peer) {
			require.Equal(r, uint64(i), a.header.A, "what arrived before the loss is in order")
		}
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
	for _, tell := range tellers {
		tell(m.transport, 1, errLost)
	}
	require.ErrorIs(r, m.close(), transport.ErrClosed)
}
