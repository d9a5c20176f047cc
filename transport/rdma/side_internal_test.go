package rdma

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/rdma/internal/credit"
	"github.com/gorun-hpc/gorun/transport/rdma/internal/negotiation"
	"github.com/gorun-hpc/gorun/transport/rdma/internal/peering"
	"github.com/gorun-hpc/gorun/transport/rdma/internal/stripe"
)

// TestOwnerOfASide checks that the owner of memory closes the side connection that the peer names, and no other
// side connection, before the owner answers with recordClosed. The answer is sent although the owner has nothing
// else to send.
func TestOwnerOfASide(t *testing.T) {
	x := newExposedTest(t)
	x.p.rail.sidesMax = 2
	sides := []*link{{purpose: negotiation.Bulk, rail: x.p.rail, peer: x.p.peer}, {purpose: negotiation.Bulk, rail: x.p.rail, peer: x.p.peer}}
	for i, l := range sides {
		l.proposal.Nonce[0] = byte(i + 1)
		require.NoError(t, x.t.open(l))
	}
	x.p.listed = false
	require.NoError(t, x.p.serve(&record{kind: recordClose, header: transport.Header{A: sides[1].nonce()}}))
	require.True(t, x.p.listed, "the answer is sent")
	require.Equal(t, []answer{{recordClosed, transport.Header{A: sides[1].nonce()}}}, x.p.bulk.answers)
	require.True(t, sides[1].gone)
	require.False(t, sides[0].gone)
	x.t.forget(sides[0])
	require.Zero(t, x.p.rail.sides)
	x.p.bulk.answers = nil
}

// TestKeysForASide checks that a rank gives out keys only for exposed memory, and only for a rail that exists.
func TestKeysForASide(t *testing.T) {
	x := newExposedTest(t)
	data := make([]byte, 64)
	k, err := x.t.Expose(data, transport.AccessRead)
	require.NoError(t, err)
	ask := func(length uint64, access transport.Access, rail byte) error {
		payload := make([]byte, questionBytes)
		payload[0], payload[4], payload[5] = 7, byte(access), rail
		x.p.bulk.answers = nil
		return x.p.serve(&record{kind: recordKey, header: transport.Header{A: k.Addr, B: k.Token, C: length}, payload: payload})
	}
	require.NoError(t, ask(64, transport.AccessRead, 0))
	require.Equal(t, []answer{{recordKeyed, transport.Header{A: k.Addr, B: uint64(uint32(k.Token)) << checkedKeyShift, C: 7}}}, x.p.bulk.answers)
	for _, c := range []struct {
		length uint64
		access transport.Access
	}{{65, transport.AccessRead}, {64, transport.AccessWrite}, {1 << 63, transport.AccessRead}} {
		require.NoError(t, ask(c.length, c.access, 0))
		require.EqualValues(t, statusBadKey, x.p.bulk.answers[0].header.B&statusMask)
	}
	require.ErrorIs(t, ask(64, transport.AccessRead, byte(len(x.t.rails))), transport.ErrDamaged)
	require.NoError(t, x.t.Conceal(k))
	require.NoError(t, ask(64, transport.AccessRead, 0))
	require.EqualValues(t, statusBadKey, x.p.bulk.answers[0].header.B&statusMask)
	require.ErrorIs(t, x.p.serve(&record{kind: recordKey}), transport.ErrDamaged)
	require.ErrorIs(t, x.t.control(x.p, &link{}, head{kind: frameMark}), transport.ErrDamaged)
	x.p.bulk.answers = nil
}

// newSides returns n side connections that the peer has requested. They are accepted, but their proofs (package
// negotiation) have not arrived yet.
func newSides(t *testing.T, x *exposedTest, n int) []*link {
	t.Helper()
	x.p.rail.sidesMax = n
	sides := make([]*link, n)
	for i := range sides {
		sides[i] = &link{purpose: negotiation.Bulk, rail: x.p.rail, peer: x.p.peer}
		sides[i].proposal.Nonce[0] = byte(i + 1)
		require.NoError(t, x.t.open(sides[i]))
	}
	return sides
}

// TestSidesOfThePeerEnd checks when a rank closes the side connections of its peer. The side connections end
// together with the connection in use, so that no Write of a failed Put arrives later. They also end when the
// peer has proved another side connection (negotiation.Credentials.AppendProof).
func TestSidesOfThePeerEnd(t *testing.T) {
	x := newExposedTest(t)
	sides := newSides(t, x, 2)
	used := &link{rail: x.p.rail, peer: x.p.peer}
	require.NoError(t, x.t.open(used))
	x.p.link = used
	x.p.closeAsides(sides[1])
	require.True(t, sides[0].gone)
	require.False(t, sides[1].gone)
	x.t.forget(used)
	require.True(t, sides[1].gone)
	require.Zero(t, x.p.rail.sides)
}

// TestSideThatEndedBeforeItWasAttached checks that a rank can request another side connection if the first side
// connection has ended before it was attached (put in use).
func TestSideThatEndedBeforeItWasAttached(t *testing.T) {
	x := newExposedTest(t)
	s := &x.p.side
	require.True(t, s.line.Want())
	s.attach(x.p, &link{gone: true, cause: errNoSide})
	require.True(t, s.line.Idle())
	require.ErrorIs(t, s.why, errNoSide)
	require.False(t, s.next.IsZero())
}

// TestSideOfAnEarlierConnection asks for a side connection beside a connection that has failed since. The test
// checks that neither this side connection nor its refusal has an effect on the next connection, which may be
// on the same adapter. The side connection that was requested beside the next connection is used.
func TestSideOfAnEarlierConnection(t *testing.T) {
	x := newExposedTest(t)
	p, s := x.p, &x.p.side
	s.judge = stripe.NewJudge(1, 0)
	before, used := &link{rail: p.rail, peer: p.peer}, &link{rail: p.rail, peer: p.peer}
	p.rail.sidesMax = 2
	p.link = used
	require.True(t, s.line.Want(), "beside the one in use")
	late := &link{purpose: negotiation.Bulk, rail: p.rail, peer: p.peer, conn: peering.Conn{Active: true}, beside: before}
	require.NoError(t, x.t.open(late))
	s.attach(p, late)
	require.True(t, late.gone)
	require.Nil(t, s.link)
	a := newConnector(x.t, p.peer)
	a.refuseSide(before, errNoSide)
	x.t.obey()
	require.NoError(t, s.why)
	require.False(t, s.line.Idle(), "another one was asked for")
	next := &link{purpose: negotiation.Bulk, rail: p.rail, peer: p.peer, conn: peering.Conn{Active: true}, beside: used, offered: make([]byte, negotiation.Size), replied: make([]byte, negotiation.Size)}
	require.NoError(t, x.t.open(next))
	s.attach(p, next)
	require.Same(t, next, s.link)
	a.refuseSide(used, errNoSide)
	p.link = nil
	x.t.forget(next)
	x.t.obey()
	p.bulk.answers = nil
}

// TestSidesThatComeAndGo checks that the answers that a rank owes to its peer are bounded, however often side
// connections fail before the rank can send an answer. The rank keeps only the answers for the last side
// connection.
func TestSidesThatComeAndGo(t *testing.T) {
	x := newExposedTest(t)
	p := x.p
	mark := make([]byte, headBytes)
	putHead(mark, 0, frameMark, false)
	for i := range 10 * answersMax {
		l := &link{purpose: negotiation.Bulk, rail: p.rail, peer: p.peer, active: true}
		binary.LittleEndian.PutUint64(l.proposal.Nonce[:], uint64(i))
		for range credit.UpdateReserve {
			d := &delivery{arrived: arrived{link: l, slot: 1}}
			p.rail.receives.active++ // as if the receive were posted again
			x.t.aside(p, d, mark)
		}
		require.NoError(t, p.serve(&record{kind: recordClose, header: transport.Header{A: uint64(i)}}))
		marked := answer{recordMarked, transport.Header{A: uint64(i)}}
		require.Equal(t, []answer{marked, marked, {recordClosed, transport.Header{A: uint64(i)}}}, p.bulk.answers)
	}
	require.NoError(t, p.end)
	p.bulk.answers = nil
}

// TestQuestionsForKeysHaveABound checks that a rank has at most as many unanswered requests for keys (recordKey)
// as its peer has to accept. Requests of operations that ended before the answer arrived count, too.
func TestQuestionsForKeysHaveABound(t *testing.T) {
	x := newExposedTest(t)
	p := x.p
	p.side.link = &link{rail: p.rail, peerRail: 1}
	p.bulk.keys = operationsMax
	o := &operation{kind: operationGet, id: 1, data: make([]byte, 8)}
	require.False(t, o.askKey(p))
	require.Equal(t, stripe.KeyUnknown, o.striped.key)
	require.Equal(t, operationsMax, p.bulk.keys)
	require.NoError(t, p.serve(&record{kind: recordKeyed}))
	require.Equal(t, operationsMax-1, p.bulk.keys, "of an operation that has ended")
	p.bulk.keys = 0
	require.NoError(t, p.serve(&record{kind: recordKeyed}))
	require.Zero(t, p.bulk.keys)
	require.NoError(t, o.striped.deregister())
	p.side.link = nil
}

// TestLostSideHadAllThatWasLeft loses a side connection that carries the last bytes of a transfer, when the
// connection in use has finished its own bytes. The test checks when the lost bytes are posted again on the
// connection in use. For a Get they are posted at once. For a Put they are posted when the owner has closed its
// end of the side connection.
func TestLostSideHadAllThatWasLeft(t *testing.T) {
	for _, kind := range []operationKind{operationGet, operationPut} {
		t.Run(operationNames[kind], func(t *testing.T) {
			x := newExposedTest(t)
			p, s := x.p, &x.p.side
			s.judge = stripe.NewJudge(1, 0)
			require.True(t, s.line.Want())
			require.True(t, s.line.Attach(7))
			o := &operation{kind: kind, id: 1, data: make([]byte, 100)}
			o.transfer.Begin(len(o.data), kind == operationPut)
			o.transfer.Post(stripe.Main, 40)
			o.transfer.Post(stripe.Side, 60)
			o.transfer.Completed(stripe.Main)
			o.transfer.Mark(stripe.Main)
			o.transfer.Confirmed(stripe.Main)
			p.bulk.all[o.id], p.listed = o, false
			s.lost(p, errNoSide)
			require.True(t, p.listed, "the peer is served")
			require.Equal(t, []answer{{recordClose, transport.Header{A: 7}}}, p.bulk.answers)
			if kind == operationPut {
				require.Empty(t, p.bulk.moving, "its Writes may still arrive")
				require.NoError(t, p.serve(&record{kind: recordClosed, header: transport.Header{A: 8}}))
				require.Empty(t, p.bulk.moving, "that was another one")
				p.listed = false
				require.NoError(t, p.serve(&record{kind: recordClosed, header: transport.Header{A: 7}}))
				require.True(t, p.listed, "the peer is served")
			}
			require.Equal(t, []*operation{o}, p.bulk.moving)
			require.Equal(t, stripe.Part{Off: 40, Len: 60}, o.transfer.Next(100))
			p.bulk = newBulk()
		})
	}
}
