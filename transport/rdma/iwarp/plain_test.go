package iwarp_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/ddp"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// TestPlainSend sends messages of one segment, each alone, into receives of one segment.
func TestPlainSend(t *testing.T) {
	for name, c := range configs {
		t.Run(name, func(t *testing.T) {
			const room = 1<<20 + 64
			a, b := newSide(t, c, room), newSide(t, c, room)
			x, y := join(t, a, b)
			for i, n := range lengths {
				fill(a.memory, byte(i))
				clear(b.memory)
				require.NoError(t, y.PostReceive(&verbs.ReceiveRequest{ID: 7, Segments: []verbs.Segment{b.region.Segment(1, n+i%2)}}))
				require.NoError(t, x.Post(&verbs.WorkRequest{ID: 8, Op: verbs.OpSend, Segments: []verbs.Segment{a.region.Segment(3, n)}}))
				got := b.done(y, 7, a)
				require.Equal(t, verbs.StatusSuccess, got.Status, "length %d", n)
				require.Equal(t, n, got.Length)
				require.Zero(t, got.Flags)
				require.Equal(t, a.memory[3:3+n], b.memory[1:1+n], "length %d", n)
				require.Zero(t, b.memory[0])
				require.Zero(t, b.memory[1+n])
				require.Equal(t, verbs.StatusSuccess, a.done(x, 8, b).Status)
			}
		})
	}
}

// TestPlainSendBeyondItsReceive has a receive that is too short, and none at all.
func TestPlainSendBeyondItsReceive(t *testing.T) {
	for room, fault := range map[int]error{4: ddp.ErrTooLong, -1: ddp.ErrNoBuffer} {
		s, _, p, ep := meet(t)
		for msn := uint32(1); msn <= 2; msn++ { // meet posts receives
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

// TestPlainSendsStall posts short Sends one by one until the peer's socket takes no
// more, the last of them in part. The peer gets all of them whole, in order.
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
