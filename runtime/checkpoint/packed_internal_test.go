package checkpoint

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/klauspost/compress/s2"
	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/internal/packing"
	"github.com/gorun-hpc/gorun/runtime"
)

// packedOf returns the packed form of an image of rank 1 of 2 at step 3.
func packedOf(tb testing.TB, mode packing.Mode, image []byte) []byte {
	tb.Helper()
	p := &packer{Decider: packing.New(mode, wayLimits)}
	var b []byte
	require.NoError(tb, stream(p, new(rooms), packedHead(3, 2, 1, len(image)), image, func(block []byte) error {
		b = append(b, block...)
		return nil
	}))
	return b
}

// mixed returns a part of two blocks. Only the first block gets shorter by compression.
func mixed() Part {
	b := make([]byte, blockBytes+1000)
	for i := range b[blockBytes-500:] {
		b[blockBytes-500+i] = byte(rand.Uint32())
	}
	return Slice(b)
}

// summed corrects the checksum of a packed image.
func summed(b []byte) []byte {
	b = bytes.Clone(b)
	if n := len(b) - sumBytes; n >= 0 {
		binary.LittleEndian.PutUint32(b[n:], crc32.Checksum(b[:n], castagnoli))
	}
	return b
}

func TestPackedImages(t *testing.T) {
	for _, part := range []Part{Slice([]byte(nil)), Slice([]byte{1}), Slice(make([]byte, blockBytes-imageHeader-8)), Slice(make([]byte, blockBytes-imageHeader-7)), mixed()} {
		for _, mode := range []packing.Mode{packing.Never, packing.Always} {
			image := writeImage(nil, 3, 2, 1, []Part{part})
			b := packedOf(t, mode, image)
			step, err := checkImage(b, 2, 1)
			require.NoError(t, err)
			require.Equal(t, 3, step)
			got, err := unpack(b, 1, []Part{part})
			require.NoError(t, err)
			require.True(t, bytes.Equal(image, got))
			_, err = unpack(b, 1, []Part{part, Slice([]byte(nil))})
			require.ErrorIs(t, err, ErrShape)
			require.ErrorContains(t, err, "it has 1 parts, and 2 are to be restored")
			_, err = unpack(b, 1, []Part{Slice(make([]byte, len(part.b)+1))})
			require.ErrorIs(t, err, ErrShape)
			require.ErrorContains(t, err, fmt.Sprintf("part 0 has %d bytes, and %d are to be restored", len(part.b), len(part.b)+1))
			_, err = checkImage(b, 2, 0)
			require.ErrorIs(t, err, ErrShape)
		}
	}
}

// TestPackedImageOfManyParts packs an image with so many parts that their lengths do not fit into
// the first block.
func TestPackedImageOfManyParts(t *testing.T) {
	parts := make([]Part, blockBytes/8)
	for i := range parts {
		parts[i] = Slice([]byte{1})
	}
	b := packedOf(t, packing.Always, writeImage(nil, 3, 2, 1, parts))
	got, err := unpack(b, 1, parts)
	require.NoError(t, err)
	require.NoError(t, readImage(got, parts))
	parts[len(parts)-1] = Slice([]byte(nil))
	_, err = unpack(b, 1, parts)
	require.ErrorIs(t, err, ErrShape)
	require.ErrorContains(t, err, "its parts have 32768 bytes together, and 32767 are to be restored")
}

// TestPackedImageOfAnotherLength checks that an image is refused if its length does not match the
// parts.
func TestPackedImageOfAnotherLength(t *testing.T) {
	part := Slice([]byte{1, 2, 3})
	image := append(writeImage(nil, 3, 2, 1, []Part{part}), 0)
	_, err := unpack(packedOf(t, packing.Never, image), 1, []Part{part})
	require.ErrorIs(t, err, ErrCorrupt)
}

// TestDamagedPackedImages checks that every damaged byte and every truncation is refused, even if
// the checksum of the truncated image is right.
func TestDamagedPackedImages(t *testing.T) {
	parts := []Part{Slice(make([]byte, 3000)), Slice([]int32{1, 2, 3})}
	image := writeImage(nil, 3, 2, 1, parts)
	for _, mode := range []packing.Mode{packing.Never, packing.Always} {
		b := packedOf(t, mode, image)
		for n := range b {
			_, err := checkImage(b[:n], 2, 1)
			require.ErrorIs(t, err, ErrCorrupt, n)
			_, err = unpack(summed(b[:n]), 1, parts)
			require.ErrorIs(t, err, ErrCorrupt, n)
			damaged := bytes.Clone(b)
			damaged[n] ^= 0x40
			_, err = checkImage(damaged, 2, 1)
			require.ErrorIs(t, err, ErrCorrupt, n)
		}
	}
}

// forgeries returns packed images that no correct rank sends, but whose checksum is right.
func forgeries(tb testing.TB) map[string][]byte {
	tb.Helper()
	part := mixed()
	image := writeImage(nil, 3, 2, 1, []Part{part})
	good := packedOf(tb, packing.Always, image)
	table := len(good) - sumBytes - 2*entryBytes
	change := func(at int, v uint64, n int) []byte {
		var word [8]byte
		binary.LittleEndian.PutUint64(word[:], v)
		b := append([]byte(nil), good...)
		copy(b[at:], word[:n])
		return summed(b)
	}
	garbage := append([]byte(nil), good...)
	first := binary.LittleEndian.Uint32(good[table:])
	for i := range garbage[packedHeader+3:][:first-3] {
		garbage[packedHeader+3+i] = 0xFF
	}
	bomb := packedHead(3, 2, 1, len(image))
	// 64 MiB in place of a block of 256 KiB.
	block := s2.Encode(nil, make([]byte, 64<<20))
	bomb = append(append(bomb, block...), image[blockBytes:]...)
	bomb = binary.LittleEndian.AppendUint32(bomb, uint32(len(block)))
	bomb = binary.LittleEndian.AppendUint32(bomb, uint32(len(image)-blockBytes))
	return map[string][]byte{
		"an endless image":       change(24, math.MaxUint64, 8),
		"a negative length":      change(24, 1<<63, 8),
		"an image of one block":  change(24, blockBytes, 8),
		"an image of many":       change(24, 1<<50, 8),
		"an image of nothing":    change(24, 0, 8),
		"a block more":           change(24, uint64(len(image)+blockBytes), 8),
		"a block of nothing":     change(table, 0, 4),
		"an endless block":       change(table, math.MaxUint32, 4),
		"a longer block":         change(table, uint64(first)+1, 4),
		"a shorter block":        change(table+4, 999, 4),
		"garbage":                summed(garbage),
		"a block of 64 MiB":      summed(append(bomb, 0, 0, 0, 0)),
		"bytes behind the table": summed(append(append([]byte(nil), good...), 0, 0, 0, 0)),
	}
}

func TestForgedPackedImages(t *testing.T) {
	part := mixed()
	for name, b := range forgeries(t) {
		_, err := unpack(b, 1, []Part{part})
		require.Error(t, err, name)
		require.True(t, errors.Is(err, ErrCorrupt) || errors.Is(err, ErrShape), "%s: %v", name, err)
		// The garbage is detected only when the image is unpacked.
		if name != "garbage" {
			_, err = checkImage(b, 2, 1)
			require.ErrorIs(t, err, ErrCorrupt, name)
		}
	}
}

// TestHostilePackedCopies checks that wrong messages in place of a packed copy lead to an error.
// The receiver must not allocate more than five blocks.
func TestHostilePackedCopies(t *testing.T) {
	good := packedOf(t, packing.Always, writeImage(nil, 3, 2, 1, []Part{Slice(make([]byte, 100))}))
	table := len(good) - entryBytes - sumBytes
	for name, c := range map[string]struct {
		length int
		pieces [][]byte
		want   error
	}{
		"whole":               {140, [][]byte{good[:packedHeader], good[packedHeader:table], good[table:]}, nil},
		"another header":      {140, [][]byte{good[:packedHeader-1], good[packedHeader:table], good[table:]}, ErrCorrupt},
		"a long header":       {140, [][]byte{good[:packedHeader+1]}, errTruncated},
		"no block":            {140, [][]byte{good[:packedHeader], nil, good[table:]}, ErrCorrupt},
		"a long block":        {140, [][]byte{good[:packedHeader], make([]byte, 141)}, errTruncated},
		"a long table":        {140, [][]byte{good[:packedHeader], good[packedHeader:table], make([]byte, 9)}, errTruncated},
		"a short table":       {140, [][]byte{good[:packedHeader], good[packedHeader:table], good[table+1:]}, ErrCorrupt},
		"one that is endless": {math.MaxInt, [][]byte{good[:packedHeader], make([]byte, blockBytes), make([]byte, blockBytes), make([]byte, blockBytes+1)}, errTruncated},
	} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, runtime.Local(2, func(w *runtime.World) error {
				comm := w.Comm()
				if w.Rank() == 1 {
					if err := runtime.Send(comm, []int{c.length, formPacked}, 0, tagHead); err != nil {
						return err
					}
					for _, piece := range c.pieces {
						if err := runtime.Send(comm, piece, 0, tagImage); err != nil {
							return err
						}
					}
					return nil
				}
				var d copied
				err := d.receive(comm, 1, 1, 3)
				if _, truncated := errors.AsType[*runtime.TruncatedError](err); truncated {
					err = errTruncated
				}
				require.ErrorIs(t, err, c.want)
				require.Equal(t, err == nil, d.step == 3)
				require.LessOrEqual(t, cap(d.image), 5*blockBytes)
				return nil
			}))
		})
	}
	require.NoError(t, runtime.Local(1, func(w *runtime.World) error { // now the heads are wrong
		for _, head := range [][]int{{140}, {140, 2}, {140, -1}, {math.MinInt, formPacked}, {imageHeader - 1, formPacked}, {}} {
			r := runtime.Isend(w.Comm(), head, 0, tagHead)
			var d copied
			require.ErrorIs(t, d.receive(w.Comm(), 0, 0, 3), ErrCorrupt)
			require.NoError(t, second(r.Wait()))
		}
		return nil
	}))
}

// second drops the first result.
func second(_ any, err error) error { return err }

// TestFilesOfOtherVersions checks that files of the first version are read. A file of a later
// version must lead to an error, and must not be treated as a missing file. A file whose version is
// damaged must be treated as a missing file.
func TestFilesOfOtherVersions(t *testing.T) {
	s, err := New(Config{Directory: t.TempDir()})
	require.NoError(t, err)
	want := []float64{1, 2, 3}
	image := writeImage(nil, 5, 1, 0, []Part{Slice(want)})
	restore := func(b []byte) (step int, got []float64, err error) {
		s, err = New(s.config)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(s.config.name(0, 0), b, 0o600))
		got = make([]float64, len(want))
		err = runtime.Local(1, func(w *runtime.World) error {
			var err error
			step, _, err = s.Restore(w.Comm(), Slice(got))
			return err
		})
		return step, got, err
	}
	step, got, err := restore(image)
	require.NoError(t, err)
	require.Equal(t, 5, step)
	require.Equal(t, want, got)
	for _, digit := range "39" {
		later := bytes.Clone(image)
		later[7] = byte(digit)
		_, _, err = restore(later)
		require.ErrorIs(t, err, ErrVersion)
		require.ErrorContains(t, err, "version "+string(digit))
	}
	for _, damaged := range []byte{'0', ':', 0xFF} {
		later := bytes.Clone(image)
		later[7] = damaged
		step, _, err = restore(later)
		require.NoError(t, err)
		require.Zero(t, step, "it is as if it were not there")
	}
}

// TestCopyThatDoesNotUnpack checks a packed copy whose blocks do not unpack to the image. The
// error must be found when the copy is restored, so that the next Restore uses another copy.
func TestCopyThatDoesNotUnpack(t *testing.T) {
	part := mixed()
	d := copied{rank: 1, step: 3, image: forgeries(t)["garbage"]}
	require.ErrorIs(t, d.read(2, []Part{part}), ErrCorrupt)
	require.Equal(t, none, d.step)
	image := writeImage(nil, 3, 2, 1, []Part{part})
	image[len(image)-1]++ // after the checksum was computed
	d = copied{rank: 1, step: 3, image: packedOf(t, packing.Never, image)}
	require.ErrorIs(t, d.read(2, []Part{part}), ErrCorrupt)
	require.Equal(t, none, d.step)
}

// FuzzImage checks that arbitrary bytes are either an image of the parts or refused.
func FuzzImage(f *testing.F) {
	small := writeImage(nil, 3, 2, 1, []Part{Slice([]byte("a part of a rank's state")), Slice([]int32{1})})
	f.Add(small)
	for _, mode := range []packing.Mode{packing.Never, packing.Always} {
		b := packedOf(f, mode, small)
		for n := range b {
			f.Add(b[:n])
		}
		f.Add(b)
		f.Add(packedOf(f, mode, writeImage(nil, 3, 2, 1, []Part{Slice(make([]byte, 2000))})))
	}
	for _, b := range forgeries(f) {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, b := range [][]byte{b, summed(b)} {
			_, err := checkImage(b, 2, 1)
			if err != nil {
				require.True(t, errors.Is(err, ErrCorrupt) || errors.Is(err, ErrShape) || errors.Is(err, ErrVersion), "%v", err)
				continue
			}
			if !isPacked(b) {
				require.NotPanics(t, func() { _ = readImage(b, nil) })
				continue
			}
			p, err := parsePacked(b)
			require.NoError(t, err)
			n := 0
			require.NoError(t, p.each(func(block []byte, whole int) error {
				require.LessOrEqual(t, len(block), whole)
				n += whole
				return nil
			}))
			require.EqualValues(t, p.length, n)
			if p.length > 1<<24 {
				continue
			}
			image, err := unpack(b, 1, []Part{Slice(make([]byte, max(0, n-imageHeader-8)))})
			require.True(t, errors.Is(err, ErrCorrupt) || errors.Is(err, ErrShape) || len(image) == n, "%v", err)
		}
	})
}
