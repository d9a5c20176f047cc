package checkpoint

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime"
)

var errTruncated = errors.New("truncated")

// forged returns a changed image of rank 1 with a right checksum.
func forged(change func(b []byte) []byte) []byte {
	b := change(writeImage(nil, 3, 2, 1, []Part{Slice([]int32{1, 2, 3}), Slice([]byte{4})}))
	if len(b) >= imageHeader {
		binary.LittleEndian.PutUint32(b[crcOffset:], checksum(b))
	}
	return b
}

// TestHostileCopies checks that wrong messages in place of a copy lead to an error. The receiver
// must not panic, even if the announced length is negative or exceeds all memory.
func TestHostileCopies(t *testing.T) {
	same := func(b []byte) []byte { return b }
	parts := func(n uint32) func([]byte) []byte {
		return func(b []byte) []byte { binary.LittleEndian.PutUint32(b[24:], n); return b }
	}
	length := func(n uint64) func([]byte) []byte {
		return func(b []byte) []byte { binary.LittleEndian.PutUint64(b[imageHeader:], n); return b }
	}
	for name, c := range map[string]struct {
		said  int // added to the announced length
		image []byte
		want  error
	}{
		"whole":             {0, forged(same), nil},
		"negative":          {math.MinInt, forged(same), ErrCorrupt},
		"no header":         {0, forged(same)[:imageHeader-1], ErrCorrupt},
		"more than is sent": {math.MaxInt - 1000, forged(same), ErrCorrupt},
		"less than is sent": {-1, forged(same), errTruncated},
		"another rank":      {0, forged(func(b []byte) []byte { b[20] = 0; return b }), ErrShape},
		"another step":      {0, forged(func(b []byte) []byte { b[8] = 4; return b }), ErrCorrupt},
		"too many parts":    {0, forged(parts(math.MaxUint32)), ErrCorrupt},
		"too few parts":     {0, forged(parts(1)), ErrCorrupt},
		"a long part":       {0, forged(length(13)), ErrCorrupt},
		"an endless part":   {0, forged(length(math.MaxUint64)), ErrCorrupt},
		"a short part":      {0, forged(length(11)), ErrCorrupt},
	} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, runtime.Local(2, func(w *runtime.World) error {
				comm := w.Comm()
				if w.Rank() == 1 {
					if err := runtime.Send(comm, []int{len(c.image) + c.said, formPlain}, 0, tagHead); err != nil {
						return err
					}
					return runtime.Send(comm, c.image, 0, tagImage)
				}
				var d copied
				err := d.receive(comm, 1, 1, 3)
				if _, truncated := errors.AsType[*runtime.TruncatedError](err); truncated {
					err = errTruncated
				}
				if !errors.Is(err, c.want) || (err == nil) != (d.step == 3) {
					return fmt.Errorf("%w, step %d", err, d.step)
				}
				if c.said == 0 && errors.Is(err, ErrCorrupt) && len(c.image) < imageHeader {
					// Take the message that the receiver has refused.
					_, err := runtime.Recv(comm, make([]byte, imageHeader), 1, tagImage)
					return err
				}
				if c.said == math.MinInt {
					_, err := runtime.Recv(comm, make([]byte, len(c.image)), 1, tagImage)
					return err
				}
				return nil
			}))
		})
	}
}

// TestLongCopies checks that copies that are sent in several pieces arrive unchanged.
func TestLongCopies(t *testing.T) {
	require.NoError(t, runtime.Local(2, func(w *runtime.World) error {
		part := make([]byte, 2*pieceBytes+5)
		for i := range part {
			part[i] = byte(i * 7 >> 3)
		}
		image := writeImage(nil, 3, 2, 1-w.Rank(), []Part{Slice(part)})
		if w.Rank() == 1 {
			return runtime.WaitAll(send(w.Comm(), 0, writeImage(nil, 3, 2, 1, []Part{Slice(part)})))
		}
		var d copied
		if err := d.receive(w.Comm(), 1, 1, 3); err != nil {
			return err
		}
		if string(d.image) != string(image) {
			return errors.New("another copy")
		}
		return nil
	}))
}

// TestAgree checks that an error of one member is an error of all members. The loss of a rank,
// even if only one member has noticed it, must be a *PeerError at all members.
func TestAgree(t *testing.T) {
	own := errors.New("own")
	require.NoError(t, runtime.Local(3, func(w *runtime.World) error {
		errs := []error{nil, nil, nil}
		for _, c := range []struct {
			err  error
			lost bool
		}{{nil, false}, {own, false}, {fmt.Errorf("x: %w", &runtime.PeerError{Rank: 0}), true}} {
			errs[1] = c.err
			err := agree(w.Comm(), 4, errs[w.Rank()])
			lost, found := errors.AsType[*runtime.PeerError](err)
			if (err == nil) != (c.err == nil) || w.Rank() == 1 && !errors.Is(err, c.err) || found != c.lost || found && lost.Rank != 0 {
				return fmt.Errorf("rank %d: %w", w.Rank(), err)
			}
		}
		return nil
	}))
}

// TestARefusedCopyEndsItsSender checks that a rank that refuses the copy of another rank ends the sends of that rank,
// which would otherwise wait for ever, and with them all ranks of the Save.
func TestARefusedCopyEndsItsSender(t *testing.T) {
	const form = 7 // does not exist
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	require.NoError(t, runtime.LocalContext(ctx, 2, func(w *runtime.World) error {
		c, err := w.Comm().Dup()
		if err != nil {
			return err
		}
		image := writeImage(nil, 3, 2, w.Rank(), []Part{Slice(make([]byte, 4<<20))})
		var d copied
		if w.Rank() == 0 {
			s, err := New(Config{})
			require.NoError(t, err)
			require.ErrorIs(t, s.exchange(c, ringOf([]int{0, 0}, 0), &copied{image: image}, &d, 3), ErrCorrupt)
			_, err = runtime.Recv(w.Comm(), make([]byte, 1), 1, tagImage)
			return err
		}
		if err := d.receive(c, 0, 0, 3); err != nil {
			return err
		}
		err = runtime.WaitAll([]runtime.Request{
			runtime.Isend(c, []int{len(image), form}, 0, tagHead), runtime.Isend(c, image, 0, tagImage),
		})
		require.ErrorIs(t, err, runtime.ErrCommBroken)
		return runtime.Send(w.Comm(), []byte{1}, 0, tagImage)
	}))
}
