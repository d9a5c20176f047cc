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
		Slot:   1 + r.IntN(300<<10), Features: negotiation.Features(r.Uint32()),
	}
}

// TestTermsMirror encodes and decodes a request and its reply, and checks that both sides get the same terms.
func TestTermsMirror(t *testing.T) {
	for seed := range uint64(5000) {
		r := rand.New(rand.NewPCG(seed, 2))
		a, p := randomPolicy(r), randomPolicy(r)
		request := a.Request(uint16(r.Uint32()))
		request.Nonce[11] = byte(r.Uint32())
		asked := credentials(3).AppendRequest(nil, &request, 1)
		arrived, err := credentials(1).OpenRequest(asked)
		require.NoError(t, err, "seed %d", seed)
		reply, passive := p.Accept(&arrived, negotiation.Event{}, uint16(r.Uint32()))
		answered := credentials(1).AppendReply(nil, &reply, 3, asked)
		got, err := credentials(3).OpenReply(answered, asked, 1)
		require.NoError(t, err, "seed %d", seed)
		active, err := negotiation.Conclude(&request, &got)
		require.NoError(t, err, "seed %d", seed)

		require.Equal(t, reply.Credits, active.SendCredits, "seed %d", seed)
		require.Equal(t, request.Credits, passive.SendCredits, "seed %d", seed)
		require.Equal(t, active.SendCredits, passive.ReceiveCredits, "seed %d", seed)
		require.Equal(t, active.ReceiveCredits, passive.SendCredits, "seed %d", seed)
		require.LessOrEqual(t, active.Depths.ORD, passive.Depths.IRD, "seed %d", seed)
		require.LessOrEqual(t, passive.Depths.ORD, active.Depths.IRD, "seed %d", seed)
		require.Equal(t, active.Slot, passive.Slot, "seed %d", seed)
		require.LessOrEqual(t, active.Slot, max(1024, min(a.Slot, p.Slot)), "seed %d", seed)
		require.Equal(t, a.Features&p.Features, active.Features, "seed %d", seed)
		require.Equal(t, active.Features, passive.Features, "seed %d", seed)
	}
}

func TestTermsAsText(t *testing.T) {
	terms := negotiation.Terms{Depths: negotiation.Depths{IRD: 16, ORD: 8}, SendCredits: 4, ReceiveCredits: 6, Slot: 8192}
	require.Equal(t, "IRD 16, ORD 8, credits 4 out and 6 in of 8192 B, CRC on", terms.String())
	terms.Features = negotiation.WithoutCRC
	require.Contains(t, terms.String(), "CRC off")
}
