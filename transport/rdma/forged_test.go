package rdma_test

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/rdma"
	"github.com/gorun-hpc/gorun/transport/rdma/internal/negotiation"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/verbstest"
)

// rejecting returns the MPA reply of a peer that rejects a connection. The argument is the private data of the
// reply.
func rejecting(private []byte) []byte {
	b := startup(replyKey, private)
	b[16] |= 0x20
	return b
}

// untagged returns a refusal in the old wire form, which has a nonce in place of an authentication tag. Anybody
// can write such a refusal without the job secret.
func untagged(reason negotiation.Reason, nonce uint32) []byte {
	b := []byte{0x67, 0x52, 0x20, 0x35}
	b = binary.BigEndian.AppendUint16(b, uint16(reason))
	b = append(b, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0)
	return binary.BigEndian.AppendUint32(b, nonce)
}

// TestForgedRefusalsEndNothing checks that an attacker who can write on the connection of an attempt can end
// this attempt, but cannot make the rank give up the peer.
func TestForgedRefusalsEndNothing(t *testing.T) {
	p := newPair(t, 0, nil)
	peer, stranger := credentials(1, 2), guessing(1, 2)
	count := uint64(0)
	forge := func(what string, forged func(asked []byte) []byte) {
		w, asked := p.dialled()
		w.write(rejecting(forged(asked)))
		w.until("the end of the attempt", func() bool { return w.eof })
		count++
		p.pump("the count", func() bool { return p.r.Strangers().Refusals.Load() == count })
		require.Empty(t, p.r.downs, what)
	}
	for reason := range negotiation.BadLength + 2 {
		r := negotiation.Reject{Reason: reason, Retry: time.Hour}
		forge("without a tag", func(asked []byte) []byte { return untagged(reason, binary.BigEndian.Uint32(asked[36:])) })
		forge("nonce 0", func([]byte) []byte { return untagged(reason, 0) })
		forge("another secret", func(asked []byte) []byte { return stranger.AppendReject(nil, &r, asked) })
	}
	for n := range negotiation.RejectSize {
		forge("cut short", func(asked []byte) []byte {
			return peer.AppendReject(nil, &negotiation.Reject{Reason: negotiation.Auth}, asked)[:n]
		})
	}
	w, recorded := p.dialled()
	require.NoError(t, w.conn.Close())
	refusal := peer.AppendReject(nil, &negotiation.Reject{Reason: negotiation.StaleEpoch}, recorded)
	forge("replayed", func([]byte) []byte { return refusal })

	w, asked := p.dialled()
	w.write(reply(1, asked))
	w.until("the first message", func() bool { return len(w.in) > 0 })
	require.NoError(t, p.r.Close())
}

// TestProvedRefusalsEndThePeer checks that a rank gives up its peer when the peer's refusal carries a valid tag.
func TestProvedRefusalsEndThePeer(t *testing.T) {
	for _, reason := range []negotiation.Reason{negotiation.Job, negotiation.StaleEpoch, negotiation.Depth} {
		p := newPair(t, 0, nil)
		w, asked := p.dialled()
		peer := credentials(1, 2)
		w.write(rejecting(peer.AppendReject(nil, &negotiation.Reject{Reason: reason}, asked)))
		p.pump("the loss", func() bool { return len(p.r.downs) == 1 })
		require.ErrorIs(t, p.r.downs[0], negotiation.Refused(reason))
		require.Zero(t, p.r.Strangers().Refusals.Load())
		require.NoError(t, p.r.Close())
	}
}

// TestRanksWithTwoSecrets connects two ranks with different job secrets, so that neither can prove its refusals
// to the other. The test checks that the rank that connects still gives up after GiveUp, and that its error
// names different secrets as the possible reason.
func TestRanksWithTwoSecrets(t *testing.T) {
	ranks := newWorld(t, memory(verbstest.StyleInfiniBand, 2), func(c *rdma.Config) {
		impatient(c)
		c.Attempt, c.RetryMax, c.GiveUp = patience, 50*time.Millisecond, time.Second
		if c.Rank == 1 {
			c.Secret = []byte("of another job")
		}
	}).ranks(t)
	require.ErrorIs(t, ranks[0].to(1).Send(transport.Header{}, nil), transport.ErrAgain)
	pump(t, ranks, "the loss", func() bool { return len(ranks[0].downs) == 1 })
	cause := ranks[0].downs[0].Cause
	require.Regexp(t, `^no connection within \S+: 10\.0\.0\.2:\d+ \(asked \d+ times\): connection 10\.0\.0\.2:`, cause.Error())
	require.ErrorContains(t, cause, "refused (authentication) by something that does not prove that it is the peer: if it is, the ranks have different job secrets")
	require.Greater(t, ranks[0].Strangers().Refusals.Load(), uint64(1), "it was tried again")
	require.Equal(t, ranks[0].Strangers().Refusals.Load(), ranks[1].Strangers().Unproved.Load())
	closeAll(t, ranks)
}
