package rdma

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/rdma/internal/peering"
)

// TestLeaveIsOfOneConnection: a peer's wish to end a connection ends no other one. It may be
// delivered when there is none, or on the next one, if the first was lost meanwhile.
func TestLeaveIsOfOneConnection(t *testing.T) {
	x := newExposedTest(t)
	// The two ends of each of two connections.
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
	require.Equal(t, told, x.p.leaving, "it has said so already")
	x.p.link, x.p.leaving = nil, staying
}
