package mpa_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/mpa"
)

// whole is a simple model of a Deframer that reads a complete stream. It returns the ULPDUs of a complete
// stream, the error that ends the stream, and whether the stream ends at a boundary of an FPDU.
func whole(stream []byte, on bool) (ulpdus [][]byte, end error, boundary bool) {
	for len(stream) > 0 {
		u, n, err := mpa.Whole(stream, on)
		if err != nil {
			return ulpdus, err, false
		}
		ulpdus = append(ulpdus, append([]byte{}, u...))
		stream = stream[n:]
	}
	return ulpdus, nil, true
}

// follow feeds a stream to a Deframer in pieces. The function piece returns the length of each piece.
func follow(t *testing.T, stream []byte, on bool, piece func() int) (ulpdus [][]byte, end error, boundary bool) {
	t.Helper()
	d := mpa.NewDeframer(on)
	var current []byte
	for len(stream) > 0 {
		require.Positive(t, d.Left(), "a caller would read nothing, and take that for the end of the stream")
		n := min(len(stream), d.Left(), max(piece(), 1))
		before := d.Phase()
		part := stream[:n]
		if before == mpa.PhaseULPDU {
			current = append(current, part...)
		}
		if err := d.Feed(part); err != nil {
			return ulpdus, err, false
		}
		stream = stream[n:]
		if before == mpa.PhaseTrailer && d.Phase() == mpa.PhaseLength {
			require.Len(t, current, d.ULPDU())
			ulpdus = append(ulpdus, append([]byte{}, current...))
			current = current[:0]
		}
	}
	return ulpdus, nil, d.Boundary()
}

func TestDeframerTakesAnySegmentation(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, on := range []bool{true, false} {
		var stream []byte
		for _, n := range []int{0, 1, 2, 3, 4, 14, 18, 46, 1454, 65535} {
			ulpdu := make([]byte, n)
			for i := range ulpdu {
				ulpdu[i] = byte(random.Uint32())
			}
			stream = mpa.AppendFPDU(stream, ulpdu, on)
		}
		want, err, _ := whole(stream, on)
		require.NoError(t, err)
		require.Len(t, want, 10)
		for name, piece := range map[string]func() int{
			"one byte at a time": func() int { return 1 },
			"all there is":       func() int { return len(stream) },
			"random":             func() int { return 1 + int(random.Uint32()%2000) },
		} {
			got, err, boundary := follow(t, stream, on, piece)
			require.NoError(t, err, name)
			require.Equal(t, want, got, name)
			require.True(t, boundary, name)
		}
	}
}

func TestDeframerKnowsBoundaries(t *testing.T) {
	fpdu := mpa.AppendFPDU(nil, []byte("abcde"), true)
	for i := range len(fpdu) + 1 {
		_, err, boundary := follow(t, fpdu[:i], true, func() int { return 3 })
		require.NoError(t, err)
		require.Equal(t, i == 0 || i == len(fpdu), boundary, "%d of %d bytes", i, len(fpdu))
	}
}

func TestDeframerCatchesEveryFlippedBit(t *testing.T) {
	good := mpa.AppendFPDU(nil, []byte("abcde"), true)
	for bit := 16; bit < 8*len(good); bit++ {
		b := append([]byte(nil), good...)
		b[bit/8] ^= 1 << (bit % 8)
		_, err, _ := follow(t, b, true, func() int { return 2 })
		require.ErrorIs(t, err, mpa.ErrCRC, "bit %d", bit)
	}
}

func TestDeframerRefusesToBeOverfed(t *testing.T) {
	d := mpa.NewDeframer(true)
	require.Panics(t, func() { _ = d.Feed(make([]byte, 3)) })
}

func TestDeframerAllocatesNothing(t *testing.T) {
	fpdu := mpa.AppendFPDU(nil, make([]byte, 42), true)
	d := mpa.NewDeframer(true)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		for rest := fpdu; len(rest) > 0; {
			n := d.Left()
			if d.Feed(rest[:n]) != nil {
				t.Fatal("CRC")
			}
			rest = rest[n:]
		}
	}))
}

// FuzzDeframer compares a Deframer that gets a stream in pieces with the model, which reads the complete stream.
func FuzzDeframer(f *testing.F) {
	f.Add(mpa.AppendFPDU(nil, unhex(f, sendHex), true), true, uint64(1))
	f.Add(mpa.AppendFPDU(mpa.AppendFPDU(nil, nil, false), []byte("abc"), false), false, uint64(2))
	f.Add([]byte{0, 1, 'a', 0, 1, 2, 3, 4}, true, uint64(3))
	f.Fuzz(func(t *testing.T, stream []byte, on bool, seed uint64) {
		random := rand.New(rand.NewPCG(seed, 0))
		want, wantErr, wantBoundary := whole(stream, on)
		got, err, boundary := follow(t, stream, on, func() int { return 1 + int(random.Uint32()%64) })
		require.Equal(t, want, got)
		require.Equal(t, wantBoundary, boundary)
		if wantErr == mpa.ErrShort { //nolint:errorlint // the oracle returns it as it is
			wantErr = nil
		}
		require.Equal(t, wantErr, err)
	})
}
