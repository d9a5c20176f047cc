package rdma_test

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/rdma"
	"github.com/gorun-hpc/gorun/transport/rdma/internal/negotiation"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
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
	require.Regexp(t, `^no connection within \S+: 10\.0\.0\.2:\d+ \(\d+ attempts\): connection 10\.0\.0\.2:`, cause.Error())
	require.ErrorContains(t, cause, "refused (authentication), without a valid proof that the refusal is from the peer; if it is from the peer: the ranks have different job secrets")
	require.Greater(t, ranks[0].Strangers().Refusals.Load(), uint64(1), "it was tried again")
	require.Equal(t, ranks[0].Strangers().Refusals.Load(), ranks[1].Strangers().Unproved.Load())
	closeAll(t, ranks)
}

// TestAckOfTheOpenFrame has a peer acknowledge a frame that the rank has not sent yet, because the rank still adds
// messages to it. The test checks that the rank reports the loss of the peer, because the acknowledgement
// violates the flow control.
func TestAckOfTheOpenFrame(t *testing.T) {
	everywhere(t, nil, func(l leaver) {
		l.say(frame(word(0, 0, 8, 0), kindUpdate))
		e := l.r.to(1)
		l.r.check = func(int, transport.Header, []byte) { _ = e.Send(transport.Header{A: 7}, []byte("answer")) }
		l.settle(l.r, "the connection", func() bool { l.poll(); return true })
		l.say(frame(word(0, 0, 8, 0), kindEager, message(0, "x")...))
		l.say(frame(word(1, 1, 8, 0), kindEager, message(1, "y")...)) // in the same Poll: the answer to x is open
		l.settle(l.r, "the loss", func() bool { l.poll(); return len(l.r.downs) == 1 })
		require.ErrorIs(t, l.r.downs[0], transport.ErrDamaged)
		require.ErrorContains(t, l.r.downs[0], "flow control violated")
	})
}

// TestPutAnsweredAsFetchAdd checks that the answer to a FetchAdd does not end a Put.
func TestPutAnsweredAsFetchAdd(t *testing.T) {
	r, u := loneAt(t, pinning(memory(verbstest.StyleIWARP, 2)), 2, nil)
	u.requests = 8
	c, n := credentials(1, 2), request(1)
	h := u.dial(r.Address(), c.AppendRequest(nil, &n, 0))
	require.Equal(t, verbs.EventEstablished, h.answer(r).Type)
	h.say(frame(word(0, 0, 8, 0), kindUpdate))
	target, err := u.domain.Register(make([]byte, 1<<16), verbs.AccessLocalWrite|verbs.AccessRemoteWrite)
	require.NoError(t, err)
	at := target.Remote(0, 0)
	k := transport.Key{Addr: at.Address, Token: uint64(at.RKey)}
	h.settle(r, "a put", func() bool { return r.to(1).Put(make([]byte, 32<<10), k, 42) == nil })
	const recordFetched, statusBadKey, operation = 3, 1, 1
	b := binary.LittleEndian.AppendUint32(nil, 0) // length of the payload
	b = append(b, recordFetched, 0, 0, 0)
	b = binary.LittleEndian.AppendUint64(b, 0)
	b = binary.LittleEndian.AppendUint64(b, statusBadKey)
	b = binary.LittleEndian.AppendUint64(b, operation)
	r.check = func(int, transport.Header, []byte) {}
	h.say(frame(word(0, 0, 8, 0), kindEager, b...))
	for range 200 {
		r.poll()
		u.poll()
		require.NotContains(t, r.done, uint64(42))
	}
	h.say(frame(word(1, 1, 8, 0), kindUpdate)) // acknowledges the marker of the Put
	h.settle(r, "the end of the put", func() bool { u.poll(); return len(r.done) == 1 })
	require.NoError(t, r.done[42])
	require.Empty(t, r.downs)
	require.NoError(t, r.Close())
}
