package iwarp

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/klauspost/compress/s2"
	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/ddp"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/mpa"
)

const (
	slowLink, fastLink = 100 << 20, 2 << 30 // bytes per second
	piece              = 64 << 10
)

// way returns a look that counts, and says what it is told.
func way(p pace, looks *int) func() pace {
	return func() pace { *looks++; return p }
}

func TestPackerLooksOnlyWhereTheSocketIsFull(t *testing.T) {
	k, looks := newPacker(PackAuto), 0
	for range 10_000 {
		require.False(t, k.wants(piece, way(pace{slowLink, true}, &looks)))
	}
	require.Zero(t, looks)
	k.blocked = true
	for !k.wants(piece, way(pace{slowLink, true}, &looks)) {
		require.Zero(t, looks)
	}
	require.Equal(t, 1, looks)
	require.False(t, k.wants(packMin-1, nil), "a short one")
}

func TestPackerIsOnWhileItPays(t *testing.T) {
	k, looks := newPacker(PackAuto), 0
	k.blocked, k.next = true, 0
	slow := way(pace{slowLink, true}, &looks)
	require.True(t, k.wants(piece, slow))
	require.True(t, k.judge(piece, piece/4, 100*time.Microsecond), "saves 470 us")
	for range 10 {
		require.True(t, k.wants(piece, slow))
		require.True(t, k.judge(piece, piece/4, 100*time.Microsecond))
	}
	for range vainMost {
		require.True(t, k.on)
		require.True(t, k.wants(piece, slow))
		require.False(t, k.judge(piece, piece, 10*time.Microsecond), "it gets no shorter")
	}
	require.False(t, k.on)
	require.Nil(t, k.memory)
	require.False(t, k.wants(piece, slow))
}

func TestPackerLeavesFastLinksAlone(t *testing.T) {
	for name, p := range map[string]pace{
		"fast": {fastLink, true}, "a peer that does not read": {slowLink, false}, "unknown": {},
	} {
		t.Run(name, func(t *testing.T) {
			k, looks, payload := newPacker(PackAuto), 0, 0
			for looks < 20 {
				k.blocked = true
				require.False(t, k.wants(piece, way(p, &looks)))
				payload += piece
			}
			require.Greater(t, payload, 8*lookMost, "the looks become rare")
		})
	}
	k, looks := newPacker(PackAuto), 0
	k.blocked, k.next = true, 0
	require.True(t, k.wants(piece, way(pace{slowLink, true}, &looks)))
	require.False(t, k.judge(piece, piece/2, time.Millisecond), "the link is faster than this processor")
	require.False(t, k.on)
}

func TestPackerGoesOffWhereTheLinkGetsFast(t *testing.T) {
	k, looks := newPacker(PackAuto), 0
	k.blocked, k.next = true, 0
	require.True(t, k.wants(piece, way(pace{slowLink, true}, &looks)))
	require.True(t, k.judge(piece, piece/4, time.Microsecond))
	for k.wants(piece, way(pace{fastLink, true}, &looks)) {
		require.True(t, k.judge(piece, piece/4, time.Microsecond))
	}
	require.False(t, k.on)
	require.Equal(t, 2, looks)
}

func TestPackerThatIsTold(t *testing.T) {
	never, always := newPacker(PackNever), newPacker(PackAlways)
	never.blocked, never.next = true, 0
	require.False(t, never.wants(piece, nil))
	require.True(t, always.wants(packMin, nil))
	require.False(t, always.wants(packMin-1, nil))
	require.True(t, always.judge(piece, piece/2, time.Hour))
	require.False(t, always.judge(piece, piece-1, 0))
}

func TestPackedPayloadsOfABatchStay(t *testing.T) {
	k := newPacker(PackAlways)
	first := k.pack(bytes.Repeat([]byte("first "), 1000))
	k.keep(first)
	k.pack(bytes.Repeat([]byte("not kept "), 1000))
	second := k.pack(bytes.Repeat([]byte("second "), 1000))
	k.keep(second)
	for _, p := range [][]byte{first, second} {
		_, err := s2.Decode(nil, p)
		require.NoError(t, err)
	}
	whole, err := s2.Decode(nil, first)
	require.NoError(t, err)
	require.True(t, bytes.HasPrefix(whole, []byte("first ")))
	noise := make([]byte, kinULPDU)
	for i := range noise {
		noise[i] = byte(rand.Uint32())
	}
	for k.memory = k.memory[:0]; ; {
		p := k.pack(noise)
		if p == nil {
			break
		}
		k.keep(p)
	}
	require.Greater(t, len(k.memory), batchMax, "there is room for a whole batch")
	k.release()
	require.Empty(t, k.memory)
}

// FuzzUnpacked: whatever a peer calls compressed is a segment of at most the maximum, or refused.
func FuzzUnpacked(f *testing.F) {
	header := make([]byte, ddp.TaggedLength)
	header[0] = 0x80 | flagPacked
	good := s2.Encode(nil, bytes.Repeat([]byte("payload "), 500))
	f.Add(append(bytes.Clone(header), good...))
	for i := range good {
		f.Add(append(bytes.Clone(header), good[:i]...))
	}
	f.Add(append(bytes.Clone(header), s2.Encode(nil, make([]byte, mpa.ULPDUMax-ddp.TaggedLength))...))
	f.Add(append(bytes.Clone(header), s2.Encode(nil, make([]byte, mpa.ULPDUMax-ddp.TaggedLength+1))...))
	f.Add([]byte{flagPacked})
	f.Fuzz(func(t *testing.T, ulpdu []byte) {
		if len(ulpdu) == 0 || len(ulpdu) > mpa.ULPDUMax {
			return
		}
		p := &queuePair{device: &device{}}
		b, err := p.unpacked(ulpdu)
		if err != nil {
			require.ErrorIs(t, err, mpa.ErrLength)
			return
		}
		header := ddp.Length(ulpdu[0])
		want, err := s2.Decode(nil, ulpdu[header:])
		require.NoError(t, err)
		require.True(t, bytes.Equal(want, b[header:]))
		require.Equal(t, ulpdu[0]&^flagPacked, b[0])
		require.True(t, bytes.Equal(ulpdu[1:header], b[1:header]))
		require.LessOrEqual(t, len(b), mpa.ULPDUMax)
	})
}
