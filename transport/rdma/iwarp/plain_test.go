package iwarp_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/ddp"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// TestPlainSend sends messages of one segment, one at a time, into receives of one segment.
func TestPlainSend(t *testing.T) {
	testSend(t, 0,
		func(s *side, _, n int) []verbs.Segment { return []verbs.Segment{s.region.Segment(3, n)} },
		func(s *side, i, n int) []verbs.Segment { return []verbs.Segment{s.region.Segment(1, n+i%2)} })
}

// TestPlainSendBeyondItsReceive checks the error of a Send whose receive is too short, or for which no receive
// is posted.
func TestPlainSendBeyondItsReceive(t *testing.T) {
	for room, fault := range map[int]error{4: ddp.ErrTooLong, -1: ddp.ErrNoBuffer} {
		s, _, p, ep := meet(t)
		for msn := uint32(1); msn <= 2; msn++ { // consumes the receives that meet has posted
			p.send(p.fpdu(message(msn, []byte("first"))))
			s.done(ep, uint64(msn-1))
		}
		if room >= 0 {
			require.NoError(t, ep.PostReceive(&verbs.ReceiveRequest{ID: 3, Segments: []verbs.Segment{s.region.Segment(0, room)}}))
		}
		p.send(p.fpdu(message(3, []byte("longer"))))
		require.ErrorIs(t, s.event(ep).Err, fault, fmt.Sprint(room))
	}
}

// TestPlainSendsStall posts up to 100 Sends of 15,000 bytes while the peer reads nothing, so that a Send may
// be written only in part. The test checks that the peer gets all Sends whole and in order.
func TestPlainSendsStall(t *testing.T) {
	const count, length = 100, 15_000
	s, _, p, ep := meet(t)
	r, err := s.domain.Register(pattern(length*2, 1), 0)
	require.NoError(t, err)
	posted := 0
	for {
		err := ep.Post(&verbs.WorkRequest{ID: uint64(1000 + posted), Op: verbs.OpSend, Segments: []verbs.Segment{r.Segment(posted%1000, length)}})
		if err != nil || posted == count {
			break
		}
		posted++
	}
	for i := range posted {
		u := p.ulpdu()
		h, err := ddp.ParseUntagged(u)
		require.NoError(t, err)
		require.Equal(t, uint32(i+1), h.MSN)
		require.Equal(t, r.Bytes()[i%1000:i%1000+length], u[ddp.UntaggedLength:], "message %d", i)
		require.Equal(t, verbs.StatusSuccess, s.done(ep, uint64(1000+i)).Status)
	}
}
