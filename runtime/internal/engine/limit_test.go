package engine_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime/internal/engine"
)

// nodeEager is the length in bytes of the longest message that a rank sends eagerly to a rank of its node.
const nodeEager = 16 << 10

// numbered returns a message whose bytes depend on its number.
func numbered(number, size int) []byte {
	b := make([]byte, size)
	for i := range b {
		b[i] = byte(number*131 + i + i>>8)
	}
	return b
}

// sendNumbered starts sends of messages with these sizes from rank 0 to rank 1.
func sendNumbered(w *world, sizes []int, tag int) []engine.Handle {
	sends := make([]engine.Handle, len(sizes))
	for i, n := range sizes {
		sends[i] = w.engines[0].Isend(engine.Match{Peer: 1, Tag: tag}, 0, numbered(i, n), engine.Standard)
	}
	return sends
}

// recvNumbered receives and checks message i of sendNumbered.
func recvNumbered(w *world, i, size, tag int) error {
	buf := make([]byte, size+1)
	s, err := w.engines[1].Recv(none, engine.Match{Peer: 0, Tag: tag}, 0, buf)
	if err == nil && (s.Bytes != size || !bytes.Equal(buf[:size], numbered(i, size))) {
		err = fmt.Errorf("message %d of %d bytes: got %d, or other contents", i, size, s.Bytes)
	}
	return err
}

func TestAMessageUpToTheEagerLimitDoesNotWait(t *testing.T) {
	for size, wait := range map[int]bool{0: false, nodeEager - 1: false, nodeEager: false, nodeEager + 1: true} {
		w := newLocalWorld(t, 2, patient)
		// The first messages go through the inbox, the later ones through a ring.
		for tag := range 40 {
			send := sendNumbered(w, []int{size}, tag)[0]
			require.Equal(t, wait, !send.Look(), "%d bytes", size)
			require.NoError(t, recvNumbered(w, 0, size, tag))
			_, err := send.Wait(none)
			require.NoError(t, err)
		}
	}
}

// TestOrderAroundTheEagerLimit checks that eager and rendezvous messages are matched in the order of
// their sends. Chance determines whether a message finds room in the lane, credit, and a posted
// receive.
func TestOrderAroundTheEagerLimit(t *testing.T) {
	for seed := range uint64(soak(4)) {
		rng := rand.New(rand.NewPCG(seed, 16))
		w := newLocalWorld(t, 2, patient)
		sizes := make([]int, 150)
		for i := range sizes {
			sizes[i] = []int{0, 1, nodeEager - 1, nodeEager, nodeEager + 1, 2 * nodeEager, 5 * nodeEager}[rng.IntN(7)]
		}
		w.each(t, func(rank int, e *engine.Engine) error {
			if rank == 0 {
				return errors.Join(e.WaitAll(none, sendNumbered(w, sizes, 3))...)
			}
			for i, n := range sizes {
				if err := recvNumbered(w, i, n, 3); err != nil {
					return err
				}
			}
			return nil
		})
	}
}

// TestCreditAndCancelAtTheEagerLimit checks that a message waits if it exceeds the credit or if the
// lane has no room for it. A cancelled message must not arrive, and the other messages must arrive in order.
func TestCreditAndCancelAtTheEagerLimit(t *testing.T) {
	w := newLocalWorld(t, 2, patient)
	sizes := make([]int, 60)
	for i := range sizes {
		sizes[i] = nodeEager
	}
	sends := sendNumbered(w, sizes, 3)
	require.True(t, sends[0].Look(), "there is room for the first")
	require.False(t, sends[len(sends)-1].Look(), "60 messages of 16 KiB are beyond the first credit")
	canceled, waited := map[int]bool{}, map[int]bool{}
	for i := 7; i < len(sends); i += 10 {
		sends[i].Cancel()
		_, err := sends[i].Wait(none)
		waited[i] = true
		// If there is no error, the receiver's background goroutine has meanwhile made room for the
		// message.
		if err != nil {
			require.ErrorIs(t, err, engine.ErrCanceled, "send %d", i)
			canceled[i] = true
		}
	}
	require.NotEmpty(t, canceled)
	w.each(t, func(rank int, e *engine.Engine) error {
		for i := range sends {
			switch {
			case canceled[i], rank == 0 && waited[i]:
			case rank == 0:
				if _, err := sends[i].Wait(none); err != nil {
					return err
				}
			default:
				if err := recvNumbered(w, i, nodeEager, 3); err != nil {
					return err
				}
			}
		}
		return nil
	})
	_, more, err := w.engines[1].Iprobe(engine.Match{Peer: 0, Tag: 3})
	require.NoError(t, err)
	require.False(t, more, "one that was canceled has arrived")
}
