package rdma

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/rdma/internal/peering"
)

// TestLeaveIsOfOneConnection checks that a peer's wish to end a connection (a leave record) ends only the
// connection that it names. If that connection was lost, the record may arrive on the next connection, or while
// there is no connection.
func TestLeaveIsOfOneConnection(t *testing.T) {
	x := newExposedTest(t)
	// own and peers are the two ends of each of two connections.
	var own, peers [2]*link
	for i := range own {
		own[i], peers[i] = &link{}, &link{conn: peering.Conn{Active: true}}
		own[i].proposal.Nonce = newNonce()
		peers[i].offer.Nonce = own[i].proposal.Nonce
		own[i].offer.Nonce, peers[i].proposal.Nonce = newNonce(), newNonce()
	}
	for _, c := range []struct {
		used, wish *link
		want       leaving
	}{
		{own[0], peers[0], agreed},
		{peers[0], own[0], agreed},
		{own[1], peers[0], staying},
		{peers[1], own[0], staying},
		{nil, peers[0], staying},
	} {
		x.p.link, x.p.leaving = c.used, staying
		require.NoError(t, x.p.serve(&record{kind: recordLeave, header: transport.Header{A: c.wish.nonce()}}))
		require.Equal(t, c.want, x.p.leaving)
	}
	x.p.link, x.p.leaving = own[0], told
	require.NoError(t, x.p.serve(&record{kind: recordLeave, header: transport.Header{A: peers[0].nonce()}}))
	require.Equal(t, told, x.p.leaving, "the rank has sent its own leave record already")
	x.p.link, x.p.leaving = nil, staying
}

// TestIdleRankAsks checks that a rank that sees no traffic asks the peer before it ends the connection, because
// the rank does not see the peer's Reads and Writes. If the peer has operations in progress, it answers that the
// connection stays. If the peer has no operation in progress, the connection ends, and no other connection
// replaces it.
func TestIdleRankAsks(t *testing.T) {
	x := newExposedTest(t)
	p := x.p
	p.link = &link{}
	p.link.proposal.Nonce = newNonce()
	nonce := p.link.nonce()
	leave := func(idle uint64) {
		require.NoError(t, p.serve(&record{kind: recordLeave, header: transport.Header{A: nonce, B: idle}}))
	}
	stay := func(nonce uint64) {
		require.NoError(t, p.serve(&record{kind: recordStay, header: transport.Header{A: nonce}}))
	}
	put := &operation{kind: operationPut, id: 1}
	p.bulk.all[1] = put
	for range 3 {
		leave(leaveIdle)
		require.Equal(t, staying, p.leaving, "a Put is under way")
		require.Equal(t, []answer{{recordStay, transport.Header{A: nonce}}}, p.bulk.answers, "one answer is pending")
	}
	p.bulk.answers = nil
	leave(0)
	require.Equal(t, agreed, p.leaving, "one on a better way is to follow")
	require.True(t, p.moves())
	delete(p.bulk.all, 1)
	for _, c := range []struct {
		name         string
		own, idle    bool
		refuse       bool
		wish         uint64
		moves, stays bool
	}{
		{"both idle", true, true, false, leaveIdle, false, false},
		{"the peer idle", false, false, false, leaveIdle, false, false},
		{"this one idle, the peer moves", true, true, false, 0, true, false},
		{"this one moves, the peer idle", true, false, false, leaveIdle, true, false},
		{"needed meanwhile", true, true, true, leaveIdle, true, false},
		{"the peer needs it", true, true, false, 0, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			p.leaving, p.idle = staying, false
			if c.own && c.idle {
				p.relax()
			} else if c.own {
				p.leave(p.link)
			}
			if c.own {
				require.Equal(t, resolved, p.leaving)
				require.Equal(t, c.idle, p.wish().B == leaveIdle)
				p.leaving = proposed
			}
			if c.refuse {
				require.ErrorIs(t, p.refuse("put", 0), transport.ErrAgain)
			}
			if c.stays {
				stay(nonce + 1)
				require.Equal(t, proposed, p.leaving, "that was another connection")
				stay(nonce)
				require.Equal(t, staying, p.leaving)
				return
			}
			leave(c.wish)
			require.Equal(t, agreed, p.leaving)
			require.Equal(t, c.moves, p.moves())
			stay(nonce)
			require.Equal(t, agreed, p.leaving, "both have agreed to end the connection")
		})
	}
	p.link, p.leaving = nil, staying
}
