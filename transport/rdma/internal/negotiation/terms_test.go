package negotiation_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/negotiation"
)

func randomPolicy(r *rand.Rand) negotiation.Policy {
	depths := func() negotiation.Depths { return negotiation.Depths{IRD: r.IntN(300), ORD: r.IntN(300)} }
	return negotiation.Policy{
		Limits: negotiation.Limits{Want: depths(), Device: depths()},
		Slot:   1 + r.IntN(300<<10), LogMessage: uint8(r.IntN(80)), Features: negotiation.Features(r.Uint32()),
	}
}

// TestTermsMirror: through the wire and back, the two sides agree on everything.
func TestTermsMirror(t *testing.T) {
	for seed := range uint64(5000) {
		r := rand.New(rand.NewPCG(seed, 2))
		a, p := randomPolicy(r), randomPolicy(r)
		request := a.Request(uint16(r.Uint32()))
		request.RingAddress, request.RingKey, request.Nonce = r.Uint64(), r.Uint32(), r.Uint32()
		asked := credentials(3).AppendRequest(nil, &request, 1)
		arrived, err := credentials(1).OpenRequest(asked)
		require.NoError(t, err, "seed %d", seed)
		reply, passive, err := p.Accept(&arrived, negotiation.Event{}, uint16(r.Uint32()))
		require.NoError(t, err, "seed %d", seed)
		answered := credentials(1).AppendReply(nil, &reply, 3, asked)
		got, err := credentials(3).OpenReply(answered, asked, 1)
		require.NoError(t, err, "seed %d", seed)
		active, err := a.Conclude(&request, &got)
		require.NoError(t, err, "seed %d", seed)

		require.Equal(t, reply.Credits, active.SendCredits, "seed %d", seed)
		require.Equal(t, request.Credits, passive.SendCredits, "seed %d", seed)
		require.Equal(t, active.SendCredits, passive.ReceiveCredits, "seed %d", seed)
		require.Equal(t, active.ReceiveCredits, passive.SendCredits, "seed %d", seed)
		require.LessOrEqual(t, active.Depths.ORD, passive.Depths.IRD, "seed %d", seed)
		require.LessOrEqual(t, passive.Depths.ORD, active.Depths.IRD, "seed %d", seed)
		require.Equal(t, active.Slot, passive.Slot, "seed %d", seed)
		require.LessOrEqual(t, active.Slot, max(1024, min(a.Slot, p.Slot)), "seed %d", seed)
		require.Equal(t, min(a.LogMessage, p.LogMessage, 62), active.LogMessage, "seed %d", seed)
		require.Equal(t, active.LogMessage, passive.LogMessage, "seed %d", seed)
		require.Equal(t, a.Features&p.Features, active.Features, "seed %d", seed)
		require.Equal(t, active.Features, passive.Features, "seed %d", seed)
		if active.Features&negotiation.RingPolling != 0 {
			require.Equal(t, request.RingAddress, passive.PeerRingAddress, "seed %d", seed)
			require.Equal(t, request.RingKey, passive.PeerRingKey, "seed %d", seed)
		} else {
			require.Zero(t, passive.PeerRingAddress, "seed %d", seed)
			require.Zero(t, passive.PeerRingKey, "seed %d", seed)
		}
	}
}

// TestUnknownMinor: a newer minor version is understood, and the older one used.
func TestUnknownMinor(t *testing.T) {
	p := negotiation.Policy{Slot: 1024}
	peer := p.Request(4)
	peer.Minor = 9
	_, terms, err := p.Accept(&peer, negotiation.Event{}, 4)
	require.NoError(t, err)
	require.EqualValues(t, negotiation.Minor, terms.Minor)
}

func TestTermsAsText(t *testing.T) {
	terms := negotiation.Terms{Depths: negotiation.Depths{IRD: 16, ORD: 8}, SendCredits: 4, ReceiveCredits: 6, Slot: 8192}
	require.Equal(t, "IRD 16, ORD 8, credits 4 out and 6 in of 8192 B, CRC on", terms.String())
	terms.Features = negotiation.WithoutCRC
	require.Contains(t, terms.String(), "CRC off")
}

func TestDepthMinimumEndsTheNegotiation(t *testing.T) {
	strict := negotiation.Policy{Limits: negotiation.Limits{
		Want: negotiation.Depths{IRD: 4, ORD: 4}, Device: negotiation.Depths{IRD: 4, ORD: 4}, Minimum: negotiation.Depths{IRD: 1, ORD: 1},
	}}
	lax := negotiation.Policy{}
	request := lax.Request(1)
	_, _, err := strict.Accept(&request, negotiation.Event{}, 1)
	require.ErrorIs(t, err, negotiation.Refused(negotiation.Depth))
	request = strict.Request(1)
	reply, _, err := lax.Accept(&request, negotiation.Event{}, 1)
	require.NoError(t, err)
	_, err = strict.Conclude(&request, &reply)
	require.ErrorIs(t, err, negotiation.Refused(negotiation.Depth))
}
