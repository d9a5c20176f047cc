package runtime_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime"
)

// first returns the address of the first element of a slice.
func first[T any](s []T) *T { return &s[0] }

// acknowledge sends an empty message, and acknowledged receives it. When acknowledged returns,
// everything that the sender did before its call of acknowledge has happened.
func acknowledge(c *runtime.Comm, dest int) error {
	return runtime.Send(c, []byte{}, dest, 99)
}

func acknowledged(c *runtime.Comm, source int) error {
	_, err := runtime.Recv(c, []byte{}, source, 99)
	return err
}

// Alloc refuses wrong element types and lengths, and View returns only whole elements.
func TestAllocRefusesWhatCannotBe(t *testing.T) {
	require.NoError(t, runtime.Local(1, func(w *runtime.World) error {
		_, err := runtime.Alloc[*int](w, 1)
		require.ErrorIs(t, err, runtime.ErrElementType)
		_, err = runtime.Alloc[int](w, -1)
		require.ErrorIs(t, err, runtime.ErrArgument)
		_, err = runtime.Alloc[[1 << 20]int](w, 1<<50)
		require.ErrorIs(t, err, runtime.ErrArgument)
		_, err = runtime.Alloc[byte](w, 1<<60)
		require.Error(t, err, "more than the arena has")

		b, err := runtime.Alloc[float64](w, 3)
		require.NoError(t, err)
		require.Len(t, b.Bytes(), 24)
		require.Len(t, runtime.View[float64](b), 3)
		require.Len(t, runtime.View[[2]float64](b), 1, "whole elements only")
		require.Panics(t, func() { runtime.View[string](b) })
		b.Close()
		return nil
	}))
}

// A Buffer that was sent, closed or made a Message cannot be used: access panics, and SendBuffer returns ErrBuffer
// with the reason. The reason names the receiver by its world rank.
func TestBufferIsDeadAfterItsEnd(t *testing.T) {
	require.NoError(t, runtime.Local(2, func(w *runtime.World) error {
		c, err := w.Comm().Split(0, -w.Rank()) // world rank 1 is rank 0
		require.NoError(t, err)
		defer func() { require.NoError(t, c.Close()) }()
		if w.Rank() == 1 {
			m, err := runtime.RecvMessage(c, 1, 3)
			if err != nil {
				return err
			}
			m.Close()
			m.Close()
			require.PanicsWithError(t, "buffer does not belong to the caller any more: it was closed", func() { m.Bytes() })
			return nil
		}
		b, err := runtime.Alloc[int](w, 4)
		require.NoError(t, err)
		require.NoError(t, runtime.SendBuffer[int](c, b, 0, 3))
		err = runtime.SendBuffer[int](c, b, 0, 3)
		require.ErrorIs(t, err, runtime.ErrBuffer)
		require.ErrorContains(t, err, "buffer does not belong to the caller any more: it was sent to world rank 1")
		require.Panics(t, func() { b.Bytes() })
		require.Panics(t, func() { runtime.View[int](b) })
		b.Close()
		require.ErrorIs(t, runtime.SendBuffer[int](c, nil, 0, 3), runtime.ErrArgument)
		b, err = runtime.Alloc[int](w, 4)
		require.NoError(t, err)
		m, err := runtime.NewMessage(b)
		require.NoError(t, err)
		require.PanicsWithError(t, "buffer does not belong to the caller any more: NewMessage has made it a Message", func() { b.Bytes() })
		m.Close()
		return nil
	}))
}

// SendBuffer refuses a Buffer of another World, even if a Buffer of its own World has the same place in its arena. Both
// Buffers stay usable.
func TestBufferOfAnotherWorldIsRefused(t *testing.T) {
	foreign := make(chan *runtime.Buffer, 1)
	require.NoError(t, runtime.Local(2, func(w *runtime.World) error {
		c := w.Comm()
		own, err := runtime.Alloc[byte](w, 1000)
		require.NoError(t, err)
		defer own.Close()
		if c.Rank() == 1 {
			foreign <- own
			return acknowledged(c, 0)
		}
		defer func() { require.NoError(t, acknowledge(c, 1)) }()
		theirs := <-foreign
		copy(own.Bytes(), "own")
		copy(theirs.Bytes(), "theirs")
		require.ErrorIs(t, runtime.SendBuffer[byte](c, theirs, 0, 3), runtime.ErrBuffer)
		require.ErrorIs(t, runtime.SendBuffer[byte](c, theirs, runtime.ProcNull, 3), runtime.ErrBuffer)
		require.NoError(t, runtime.SendBuffer[byte](c, own, 0, 3))
		m, err := runtime.RecvMessage(c, 0, 3)
		require.NoError(t, err)
		defer m.Close()
		require.Equal(t, "own", string(m.Bytes()[:3]))
		require.Equal(t, "theirs", string(theirs.Bytes()[:6]))
		return nil
	}))
}

// A SendBuffer that is refused because of its arguments leaves the Buffer usable. A Buffer that is
// sent to ProcNull is dead.
func TestRefusedBufferStaysAlive(t *testing.T) {
	require.NoError(t, runtime.Local(1, func(w *runtime.World) error {
		c := w.Comm()
		b, err := runtime.Alloc[byte](w, 12)
		require.NoError(t, err)
		defer b.Close()
		require.ErrorIs(t, runtime.SendBuffer[byte](c, b, 7, 0), runtime.ErrRank)
		require.ErrorIs(t, runtime.SendBuffer[byte](c, b, 0, -5), runtime.ErrTag)
		require.ErrorIs(t, runtime.SendBuffer[int](c, b, 0, 0), runtime.ErrArgument, "one and a half int")
		require.ErrorIs(t, runtime.SendBuffer[string](c, b, 0, 0), runtime.ErrElementType)
		require.ErrorIs(t, runtime.SendBuffer[byte](nil, b, 0, 0), runtime.ErrComm)
		require.Len(t, b.Bytes(), 12)
		require.NoError(t, runtime.SendBuffer[byte](c, b, runtime.ProcNull, 0), "it has no receiver")
		require.Panics(t, func() { b.Bytes() })
		m, err := runtime.RecvMessage(c, runtime.ProcNull, 0)
		require.NoError(t, err)
		require.Equal(t, runtime.ProcNull, m.Status.Source)
		require.Empty(t, m.Bytes())
		m.Close()
		return nil
	}))
}

// A handover copies nothing: the receiver reads at the address at which the sender wrote. After the
// receiver has released the memory, Alloc returns the same memory at the sender.
func TestHandoverCopiesNothing(t *testing.T) {
	const n = 64 << 20 / 8
	sent := make(chan *uint64, 1)
	require.NoError(t, runtime.Local(2, func(w *runtime.World) error {
		c := w.Comm()
		if c.Rank() == 0 {
			b, err := runtime.Alloc[uint64](w, n)
			if err != nil {
				return err
			}
			v := runtime.View[uint64](b)
			v[0], v[n-1] = 17, 4711
			sent <- first(v)
			if err := runtime.SendBuffer[uint64](c, b, 1, 5); err != nil {
				return err
			}
			if err := acknowledged(c, 1); err != nil {
				return err
			}
			again, err := runtime.Alloc[uint64](w, n)
			if err != nil {
				return err
			}
			require.Same(t, first(v), first(runtime.View[uint64](again)), "released memory is used again")
			again.Close()
			return nil
		}
		m, err := runtime.RecvMessage(c, runtime.AnySource, runtime.AnyTag)
		if err != nil {
			return err
		}
		require.Equal(t, 0, m.Status.Source)
		require.Equal(t, 5, m.Status.Tag)
		require.Equal(t, n*8, m.Status.Bytes)
		require.Equal(t, n, runtime.CountOf[uint64](m.Status))
		v := runtime.View[uint64](m.Buffer())
		require.Len(t, v, n)
		require.Same(t, <-sent, first(v))
		require.Equal(t, [2]uint64{17, 4711}, [2]uint64{v[0], v[n-1]})
		m.Close()
		return acknowledge(c, 0)
	}))
}

// Recv into a slice receives a message of SendBuffer, with the usual checks of type and length, and
// RecvMessage receives a message of Send.
func TestAnyReceiveTakesABuffer(t *testing.T) {
	require.NoError(t, runtime.Local(2, func(w *runtime.World) error {
		c := w.Comm()
		if c.Rank() == 0 {
			for _, dest := range []int{1, 1, 1, 0} {
				b, err := runtime.Alloc[int32](w, 1000)
				if err != nil {
					return err
				}
				for i := range runtime.View[int32](b) {
					runtime.View[int32](b)[i] = int32(i)
				}
				if err := runtime.SendBuffer[int32](c, b, dest, 0); err != nil {
					return err
				}
			}
			m, err := runtime.RecvMessage(c, 0, 0)
			if err != nil {
				return err
			}
			require.Equal(t, int32(999), runtime.View[int32](m.Buffer())[999])
			m.Close()
			return runtime.Send(c, []int32{1, 2, 3}, 1, 1)
		}
		got := make([]int32, 1000)
		s, err := runtime.Recv(c, got, 0, 0)
		require.NoError(t, err)
		require.Equal(t, 1000, s.Count())
		require.Equal(t, int32(999), got[999])

		_, err = runtime.Recv(c, make([]float64, 1000), 0, 0)
		var mismatch *runtime.TypeMismatchError
		require.ErrorAs(t, err, &mismatch)

		_, err = runtime.Recv(c, got[:10], 0, 0)
		var truncated *runtime.TruncatedError
		require.ErrorAs(t, err, &truncated)
		require.Equal(t, int32(9), got[9])

		m, err := runtime.RecvMessage(c, 0, 1) // sent from a slice
		require.NoError(t, err)
		require.Equal(t, []int32{1, 2, 3}, runtime.View[int32](m.Buffer()))
		m.Close()
		return nil
	}))
}

// The Buffer of a received message can be changed and sent on, also back to the rank that allocated
// it.
func TestBufferIsSentOn(t *testing.T) {
	const rounds = 5
	require.NoError(t, runtime.Local(3, func(w *runtime.World) error {
		c := w.Comm()
		next := (c.Rank() + 1) % 3
		if c.Rank() == 0 {
			b, err := runtime.Alloc[int](w, 1000)
			if err != nil {
				return err
			}
			clear(runtime.View[int](b))
			if err := runtime.SendBuffer[int](c, b, next, 0); err != nil {
				return err
			}
		}
		for range rounds {
			m, err := runtime.RecvMessage(c, runtime.AnySource, 0)
			if err != nil {
				return err
			}
			v := runtime.View[int](m.Buffer())
			v[c.Rank()]++
			if c.Rank() == 0 && v[0] == rounds {
				require.Equal(t, []int{rounds, rounds, rounds}, v[:3])
				m.Close()
				break
			}
			if err := runtime.SendBuffer[int](c, m.Buffer(), next, 0); err != nil {
				return err
			}
			require.Panics(t, func() { m.Bytes() })
		}
		return nil
	}))
}

// SendBuffer sets the padding of elements to zero.
func TestPaddingOfABufferTravelsAsZeros(t *testing.T) {
	type padded struct {
		A uint8
		B uint32
	}
	require.NoError(t, runtime.Local(1, func(w *runtime.World) error {
		b, err := runtime.Alloc[padded](w, 2)
		require.NoError(t, err)
		for i := range b.Bytes() {
			b.Bytes()[i] = 0xff
		}
		require.NoError(t, runtime.SendBuffer[padded](w.Comm(), b, 0, 0))
		m, err := runtime.RecvMessage(w.Comm(), 0, 0)
		require.NoError(t, err)
		defer m.Close()
		value := []byte{0xff, 0, 0, 0, 0xff, 0xff, 0xff, 0xff}
		require.Equal(t, append(value, value...), m.Bytes())
		return nil
	}))
}

// If the context.Context of its view has ended, RecvMessage returns the cause.
func TestRecvMessageEndsWithItsContext(t *testing.T) {
	require.NoError(t, runtime.Local(1, func(w *runtime.World) error {
		ctx, cancel := context.WithCancelCause(context.Background())
		why := errors.New("enough")
		cancel(why)
		_, err := runtime.RecvMessage(w.Comm().WithContext(ctx), runtime.AnySource, 0)
		require.ErrorIs(t, err, why)
		require.ErrorIs(t, err, runtime.ErrCanceled)
		return nil
	}))
}
