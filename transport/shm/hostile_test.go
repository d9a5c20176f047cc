package shm_test

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/shm"
)

// intoRing sends messages until the lane from one rank to another is a ring, and reads all of them.
func intoRing(tb testing.TB, from, to *shm.Transport, fromRank, toRank int) {
	tb.Helper()
	e := endpointTo(tb, from, toRank)
	l := &log{}
	for range shm.RingAfter + 4 {
		require.NoError(tb, sendAll(from, &log{}, e, transport.Header{}, nil))
		poll(tb, to, l, 4)
	}
	poll(tb, to, l, 4)
	require.GreaterOrEqual(tb, shm.Lane(from, toRank), 0)
	require.Len(tb, l.arrivals, shm.RingAfter+4)
}

// poll calls Poll n times.
func poll(tb testing.TB, tr *shm.Transport, h transport.Handler, n int) {
	tb.Helper()
	for range n {
		_, err := tr.Poll(h, 16)
		require.NoError(tb, err)
	}
}

// If a ring is damaged, its writer is reported as lost, and messages of other ranks still arrive.
func TestDamagedRing(t *testing.T) {
	ts := local(t, 3, false)
	intoRing(t, ts[1], ts[0], 1, 0)
	intoRing(t, ts[2], ts[0], 2, 0)
	damageRing(t, ts, 1)
	l := &log{}
	poll(t, ts[0], l, 4)
	require.Len(t, l.downs, 1)
	require.Equal(t, 1, l.downs[0].Peer)
	require.ErrorIs(t, l.downs[0], transport.ErrDamaged)
	require.ErrorIs(t, endpointTo(t, ts[0], 1).Send(transport.Header{}, nil), transport.ErrPeerDown)
	require.NoError(t, endpointTo(t, ts[2], 0).Send(transport.Header{A: 7}, nil))
	poll(t, ts[0], l, 4)
	require.Equal(t, []arrival{{2, transport.Header{A: 7}, nil}}, l.arrivals)
}

// A writer that reads an impossible head of its ring reports the peer as lost.
func TestDamagedHead(t *testing.T) {
	ts := local(t, 2, false)
	intoRing(t, ts[1], ts[0], 1, 0)
	head := shm.Control(ts[0], 0)[shm.OffRingHeads+shm.Lane(ts[1], 0)*64:]
	binary.NativeEndian.PutUint64(head, 1<<40)
	e := endpointTo(t, ts[1], 0)
	var err error
	for range 100 {
		if err = e.Send(transport.Header{}, make([]byte, 8000)); err != nil {
			break
		}
	}
	require.ErrorIs(t, err, transport.ErrDamaged)
	l := &log{}
	poll(t, ts[1], l, 2)
	require.Len(t, l.downs, 1)
	require.ErrorIs(t, l.downs[0], transport.ErrDamaged)
}

// A rank dies after it has claimed a slot and has not published it. Readers skip the slot, another
// rank can take the ring, and the messages that the rank has published arrive.
func TestClaimOfTheDead(t *testing.T) {
	ts := local(t, 3, false)
	require.NoError(t, endpointTo(t, ts[1], 0).Send(transport.Header{A: 1}, nil))
	shm.Claim(ts[1], 0, 3, true)
	taken := shm.TakeRing(ts[1], 0)
	require.NoError(t, endpointTo(t, ts[2], 0).Send(transport.Header{A: 2}, nil))
	l := &log{}
	poll(t, ts[0], l, 4)
	require.Len(t, l.arrivals, 1, "the claim may still be published")
	ts[0].MarkDown(1, transport.ErrClosed)
	poll(t, ts[0], l, 4)
	require.Len(t, l.arrivals, 2)
	require.Equal(t, 2, l.arrivals[1].peer)
	require.Len(t, l.downs, 1)
	require.Zero(t, shm.RingOwner(ts[0], taken), "its ring is free")
}

// A rank that writes a tail beyond the end of an inbox and dies is reported as lost, and the senders to this inbox
// get ErrDamaged. They do not wait for room forever.
func TestTailBeyondTheInbox(t *testing.T) {
	ts := local(t, 3, false)
	binary.NativeEndian.PutUint64(shm.Control(ts[0], 0)[shm.OffInboxTail:], 3*shm.InboxSlots)
	ts[0].MarkDown(1, unix.ESRCH)
	l := &log{}
	poll(t, ts[0], l, 2)
	require.Len(t, l.downs, 1)
	require.ErrorIs(t, endpointTo(t, ts[2], 0).Send(transport.Header{}, nil), transport.ErrDamaged)
	binary.NativeEndian.PutUint64(shm.Control(ts[0], 0)[shm.OffInboxTail:], 0)
	require.NoError(t, endpointTo(t, ts[1], 0).Send(transport.Header{}, nil))
	require.NoError(t, endpointTo(t, ts[2], 0).Send(transport.Header{}, nil))
	poll(t, ts[0], l, 4)
	require.Equal(t, []arrival{{2, transport.Header{}, nil}}, l.arrivals, "nothing comes from the lost rank")
}

// A sender that announces a ring which another rank has taken is reported as lost, with ErrDamaged.
func TestRingOfAnother(t *testing.T) {
	ts := local(t, 3, false)
	taken := shm.TakeRing(ts[1], 0)
	require.NoError(t, shm.Note(ts[2], 0, shm.NoteLane, transport.Header{A: uint64(taken)}))
	l := &log{}
	poll(t, ts[0], l, 3)
	require.Len(t, l.downs, 1)
	require.Equal(t, 2, l.downs[0].Peer)
	require.ErrorIs(t, l.downs[0], transport.ErrDamaged)
}

// Send returns an error if the receiver's memory has another version of the layout.
func TestOtherVersion(t *testing.T) {
	ts := local(t, 2, false)
	shm.Control(ts[0], 0)[shm.OffVersion]++
	require.ErrorIs(t, endpointTo(t, ts[1], 0).Send(transport.Header{}, nil), transport.ErrDamaged)
}

// All messages that a peer has sent before it died are delivered before its Down.
func TestLastWords(t *testing.T) {
	ts := local(t, 2, false)
	intoRing(t, ts[1], ts[0], 1, 0)
	e := endpointTo(t, ts[1], 0)
	n := 0
	for e.Send(transport.Header{A: uint64(n)}, pattern(100, uint64(n))) == nil {
		n++
	}
	ts[0].MarkDown(1, transport.ErrClosed)
	l := &log{}
	for len(l.downs) == 0 {
		poll(t, ts[0], l, 1)
	}
	require.Len(t, l.arrivals, n)
	poll(t, ts[0], l, 10)
	require.Len(t, l.downs, 1)
}

// talker is a Handler that sends a message for each message that arrives.
type talker struct {
	log
	to transport.Endpoint
}

func (h *talker) Arrive(peer int, header transport.Header, payload []byte) {
	h.log.Arrive(peer, header, payload)
	_ = h.to.Send(transport.Header{}, nil)
}

// The loss of a rank is reported although the inbox is never empty, because another rank goes on sending.
func TestLossDuringTraffic(t *testing.T) {
	ts := inboxOnly(t, 3)
	require.NoError(t, endpointTo(t, ts[2], 0).Send(transport.Header{}, nil))
	ts[0].MarkDown(1, unix.ESRCH)
	h := &talker{to: endpointTo(t, ts[2], 0)}
	poll(t, ts[0], h, 4)
	require.Len(t, h.downs, 1)
	require.Len(t, h.arrivals, 64, "the whole budget, so the inbox is not empty")
}

// If there are more peers than rings, a ring without traffic is passed on to a peer that needs one, also while the ring
// of a peer that was given up is withheld.
func TestRingsChangeHands(t *testing.T) {
	t.Run("all rings are in use", func(t *testing.T) { changeHands(t, false) })
	t.Run("a ring is withheld", func(t *testing.T) { changeHands(t, true) })
}

// changeHands gives up the writer of a ring first if withheld is true.
func changeHands(t *testing.T, withheld bool) {
	t.Helper()
	const ranks = shm.RingsPerRank + 3
	ts := local(t, ranks, false)
	for r := 1; r <= shm.RingsPerRank; r++ {
		intoRing(t, ts[r], ts[0], r, 0)
	}
	writers := shm.RingsPerRank
	if withheld {
		writers--
		ts[0].GiveUp(1, errors.New("violates the protocol"))
		poll(t, ts[0], &log{}, 2)
	}
	last := ts[ranks-1]
	e := endpointTo(t, last, 0)
	o := &order{t: t, next: map[int]uint64{}}
	sent := uint64(0)
	for shm.Lane(last, 0) < 0 {
		require.NoError(t, sendAll(last, &log{}, e, transport.Header{A: sent, B: ranks - 1, C: 3}, pattern(3, sent)))
		sent++
		for range 64 {
			for _, tr := range ts {
				poll(t, tr, o, 1)
			}
		}
		require.Less(t, sent, uint64(10_000))
	}
	require.EqualValues(t, sent, o.next[ranks-1])
	// All senders, including the one that has returned its ring, can still send.
	for r := 1; r <= shm.RingsPerRank; r++ {
		require.NoError(t, sendAll(ts[r], &log{}, endpointTo(t, ts[r], 0), transport.Header{A: 99}, nil))
	}
	l := &log{}
	poll(t, ts[0], l, 10)
	require.Len(t, l.arrivals, writers)
}

// FuzzControl lets a peer write arbitrary words into the control area of a rank, and checks that
// Poll, Send and Get neither panic nor hang.
func FuzzControl(f *testing.F) {
	add := func(words ...uint64) {
		var b []byte
		for _, w := range words {
			b = binary.LittleEndian.AppendUint64(b, w)
		}
		f.Add(b)
	}
	add(shm.OffRings, 1<<63|8)
	add(shm.OffRings, 1<<63|1<<56)
	add(shm.OffRings+64, 1<<63|1<<32|8192)
	add(shm.OffInboxIndex, 2<<60|1<<48|1<<32)
	add(shm.OffInboxIndex+8*17, 1<<60|4095<<48|1<<32)
	add(shm.OffInboxIndex+8*17, 2<<60|2<<48|1<<32, shm.OffInboxData+64*17, 1<<63|17<<32|40)
	add(shm.OffInboxTail, 1<<63)
	add(shm.OffInboxHead, 1<<63, shm.OffRingHeads, 5)
	add(shm.OffTickets, 1<<8|1, shm.OffTickets, 1<<8|2)
	add(shm.OffBulk+64, ^uint64(0), shm.OffBulk+72, ^uint64(0))
	add(64, ^uint64(0), 192, 1, 200, 2, 256, 1)
	f.Fuzz(func(t *testing.T, script []byte) {
		ts := local(t, 3, true)
		intoRing(t, ts[1], ts[0], 1, 0)
		e, back := endpointTo(t, ts[1], 0), endpointTo(t, ts[0], 1)
		key, err := ts[1].Expose(pattern(300_000, 1), transport.AccessRead)
		require.NoError(t, err)
		control := shm.Control(ts[0], 0)
		l := &log{}
		dst := make([]byte, 300_000)
		for range 64 {
			if len(script) < 16 {
				break
			}
			off := binary.LittleEndian.Uint64(script) % uint64(len(control)-8)
			copy(control[off&^7:], script[8:16])
			script = script[16:]
			_ = e.Send(transport.Header{}, script)
			_ = endpointTo(t, ts[2], 0).Send(transport.Header{}, nil)
			_ = back.Send(transport.Header{}, nil)
			_ = back.Get(dst, key, 1)
			for _, tr := range ts {
				_, _ = tr.Poll(l, 16)
				if tr.Arm() {
					tr.Disarm()
				}
			}
		}
		for range 100 {
			for _, tr := range ts {
				_, _ = tr.Poll(l, 16)
			}
		}
	})
}

// FuzzNotes lets a peer send notes (records that only transports send) with arbitrary contents, and
// checks that the notes cause no write to memory that is exposed for reading only.
func FuzzNotes(f *testing.F) {
	for kind := range uint8(8) {
		f.Add(kind, uint64(0), uint64(0), uint64(1))
		f.Add(kind, uint64(1)<<40|8<<16|2<<8|3, uint64(4096), uint64(1)<<63)
		f.Add(kind, ^uint64(0), ^uint64(0), ^uint64(0))
	}
	f.Fuzz(func(t *testing.T, kind uint8, a, b, c uint64) {
		ts := local(t, 2, true)
		memory := pattern(4096, 1)
		_, err := ts[0].Expose(memory, transport.AccessRead)
		require.NoError(t, err)
		_ = shm.Note(ts[1], 0, kind&0x7f, transport.Header{A: a, B: b, C: c})
		l := &log{}
		for range 8 {
			_, err := ts[0].Poll(l, 16)
			require.NoError(t, err)
		}
		require.Equal(t, pattern(4096, 1), memory, "a note wrote into memory that may be read")
	})
}

// A helper that claims more chunks of a shared Get than there are is reported as lost.
func TestHelperThatClaimsTooMuch(t *testing.T) {
	ts := pair(t)
	needsAlone(t)
	shm.ForceWay(ts[0], shm.WayShared)
	const n, chunks, offClaims, offDone, offFailed = 1 << 20, 1000, 64, 72, 80
	k, err := ts[1].Expose(pattern(n, 5), transport.AccessRead)
	require.NoError(t, err)
	desc := shm.Control(ts[0], 0)[shm.OffBulk:][:128]
	shm.CountDirect(ts[0], func() {
		claims := binary.NativeEndian.Uint64(desc[offClaims:])
		if claims == 0 {
			return
		}
		binary.NativeEndian.PutUint64(desc[offClaims:], claims&^(1<<40-1)|chunks<<20|claims&(1<<20-1))
		binary.NativeEndian.PutUint64(desc[offDone:], chunks)
		binary.NativeEndian.PutUint64(desc[offFailed:], chunks)
	})
	require.NoError(t, endpointTo(t, ts[0], 1).Get(make([]byte, n), k, 1))
	l := &log{}
	poll(t, ts[0], l, 10)
	require.Len(t, l.downs, 1)
	require.Len(t, l.done, 1)
	require.ErrorIs(t, l.done[0].err, transport.ErrDamaged)
}

// A lost rank that has not taken the requests of a Get keeps none of the staging buffers.
func TestLostRankKeepsNoBuffers(t *testing.T) {
	ts := local(t, 3, true)
	intoRing(t, ts[1], ts[0], 1, 0)
	source := pattern(300_000, 1)
	var keys [3]transport.Key
	for rank := 1; rank < 3; rank++ {
		var err error
		keys[rank], err = ts[rank].Expose(source, transport.AccessRead)
		require.NoError(t, err)
	}
	for token := range uint64(2) { // they ask for all buffers
		require.NoError(t, endpointTo(t, ts[0], 1).Get(make([]byte, len(source)), keys[1], token))
	}
	l := &log{}
	poll(t, ts[0], l, 4)
	damageRing(t, ts, 1)
	poll(t, ts[0], l, 4)
	require.Len(t, l.downs, 1)
	require.Len(t, l.done, 2)
	require.Equal(t, 8, shm.TakenBack(ts[0]), "otherwise rank 1 could still take them")
	dst := make([]byte, len(source))
	require.NoError(t, endpointTo(t, ts[0], 2).Get(dst, keys[2], 7))
	for range 10000 {
		if poll(t, ts[0], l, 1); len(l.done) == 3 {
			break
		}
		poll(t, ts[2], l, 1)
	}
	require.Len(t, l.done, 3)
	require.NoError(t, l.done[2].err)
	require.Equal(t, source, dst)
}
