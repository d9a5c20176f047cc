package iwarp

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/klauspost/compress/s2"
	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/internal/packing"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/ddp"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/mpa"
)

// slow returns the measurement of a transfer that the link limits to 100 MiB/s.
func slow() packing.Pace { return packing.Pace{Rate: 100 << 20, Bound: true} }

// lookedAt returns a packer that has measured a slow link. Therefore the packer wants to try to compress a
// segment.
func lookedAt(n int) packer {
	k := newPacker(PackAuto)
	k.Block()
	for !k.wants(n, slow) {
	}
	return k
}

// TestMemoryOfAPacker checks that a connection has memory for compressed payload only while it compresses.
func TestMemoryOfAPacker(t *testing.T) {
	payload := make([]byte, kinULPDU)
	k := lookedAt(len(payload))
	k.keep(k.pack(payload))
	require.True(t, k.judge(len(payload), len(payload)/4, time.Microsecond))
	require.NotNil(t, k.memory)
	for k.On() {
		require.True(t, k.wants(len(payload), slow))
		require.NotNil(t, k.pack(payload))
		require.False(t, k.judge(len(payload), len(payload), time.Microsecond))
	}
	require.Nil(t, k.memory)

	k = lookedAt(len(payload))
	require.NotNil(t, k.pack(payload))
	require.True(t, k.judge(len(payload), len(payload)/4, time.Microsecond))
	for k.wants(len(payload), func() packing.Pace { return packing.Pace{} }) {
	}
	require.Nil(t, k.memory)
}

// TestCompressedPayloadIsSentAsItIs passes to a packer 256 MiB of payload that the program has compressed,
// such as a checkpoint. The test checks that the packer compresses no segment, and that it tries to
// compress at most 16 segments.
func TestCompressedPayloadIsSentAsItIs(t *testing.T) {
	plain := make([]byte, 4<<20)
	for i := range plain {
		if plain[i] = byte(rand.Uint32()); i&64 != 0 {
			plain[i] = plain[i-64] // compressible
		}
	}
	packed := s2.Encode(nil, plain)
	require.Less(t, len(packed), len(plain)*7/8)
	k := lookedAt(kinULPDU)
	require.True(t, k.judge(kinULPDU, kinULPDU/4, time.Microsecond), "what came before gets shorter")
	tried, kept := 0, 0
	for sent, at := 0, 0; sent < 256<<20; sent += kinULPDU {
		if at += kinULPDU; at+kinULPDU > len(packed) {
			at = 0
		}
		k.Block()
		if k.wants(kinULPDU, slow) {
			tried++
			segment := packed[at : at+kinULPDU]
			if k.judge(kinULPDU, len(k.pack(segment)), time.Microsecond) {
				kept++
			}
		}
	}
	require.Zero(t, kept)
	require.LessOrEqual(t, tried, 16)
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

// FuzzUnpacked passes arbitrary payload that is marked as compressed. It checks that this payload is either
// refused or decompressed to at most the maximum length of a segment.
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
