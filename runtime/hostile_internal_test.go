package runtime

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport"
)

// Kinds of frames of the engine that tests forge, as the engine defines them.
const (
	frameEager     = 1
	frameAnnounced = 2
	frameRelease   = 12
	frameNotice    = 13

	frameKey = 2 << 8
)

// forge sends a frame of the engine with arbitrary contents.
func forge(w *World, to int, h transport.Header, body []byte) error {
	var err error
	asked := w.engine.Query(func() {
		ep, failed := w.shm.Endpoint(to)
		if err = failed; err == nil {
			err = ep.Send(h, body)
		}
	})
	return errors.Join(asked, err)
}

// A rank can return only memory that was handed over to it, not memory of another holder or memory
// that was not handed over.
func TestOnlyTheHolderGivesMemoryBack(t *testing.T) {
	const n = 1 << 20
	everywhere(t, 3, func(w *World) error {
		c := w.Comm()
		addr := make([]uint64, 2)
		switch w.Rank() {
		case 0:
			b, err := Alloc[byte](w, n)
			require.NoError(t, err)
			kept, err := Alloc[byte](w, n)
			require.NoError(t, err)
			a := w.memory.arena
			addr[0], addr[1] = a.Key(b.lease.Off).Addr, a.Key(kept.lease.Off).Addr
			pattern(b.Bytes(), 1)
			require.NoError(t, SendBuffer[byte](c, b, 1, 0))
			require.NoError(t, Send(c, addr, 2, 0))
			_, err = Recv(c, addr, 2, 1) // this message follows the forged frames
			require.NoError(t, err)
			require.Equal(t, 2, leases(w))
			require.NoError(t, Send(c, []byte{1}, 1, 1))
			_, err = Recv(c, addr, 1, 1) // this message follows the genuine release
			require.NoError(t, err)
			require.Equal(t, 1, leases(w))
			kept.Close()
		case 1:
			_, err := Recv(c, make([]byte, 1), 0, 1)
			require.NoError(t, err)
			m, err := RecvMessage(c, 0, 0)
			require.NoError(t, err)
			require.Equal(t, pattern(make([]byte, n), 1), m.Bytes())
			m.Close()
			return Send(c, addr, 0, 1)
		case 2:
			_, err := Recv(c, addr, 0, 0)
			require.NoError(t, err)
			for _, a := range append(addr, addr[0]+64, addr[1]+n, 0, 1<<63) {
				body := binary.LittleEndian.AppendUint64(nil, a)
				require.NoError(t, forge(w, 0, transport.Header{A: frameRelease}, body))
			}
			return Send(c, addr, 0, 1)
		}
		return nil
	})
}

// pattern fills b with bytes that depend on their position and on seed.
func pattern(b []byte, seed int) []byte {
	for i := range b {
		b[i] = byte(i*7 + i>>8 + seed*31)
	}
	return b
}

// Only the members of a communicator can break it. Notices from other ranks, notices about unknown communicators, and
// notices of breaks by ranks that are no members, are discarded.
func TestOnlyMembersBreakACommunicator(t *testing.T) {
	everywhere(t, 3, func(w *World) error {
		c := w.Comm()
		color := 0
		if w.Rank() == 2 {
			color = 1
		}
		part, err := c.Split(color, 0)
		require.NoError(t, err)
		notice := func(number uint32, member int) error {
			return forge(w, 0, transport.Header{A: frameNotice, B: uint64(number)}, breakNotice(member, 0, errors.New("forged")))
		}
		if w.Rank() == 1 {
			require.NoError(t, notice(part.core.number, 2))
		}
		if w.Rank() == 2 {
			for number := range uint32(3000) {
				if number == 0 {
					continue // rank 2 is a member of the World's communicator
				}
				for err := transport.ErrAgain; errors.Is(err, transport.ErrAgain); {
					err = notice(part.core.number+number-1, 0)
				}
			}
			require.NoError(t, notice(1<<31-1, 0))
		}
		require.NoError(t, meet(w))
		require.NoError(t, meet(w))
		require.NoError(t, part.Err())
		require.Empty(t, w.comms.claimed)
		// Communicators that are created afterwards work.
		next, err := part.Dup()
		require.NoError(t, err)
		require.NoError(t, meet(w))
		require.NoError(t, meet(w))
		return next.Err()
	})
}

// A message of an agreement with too few bytes is an error, and not a partial agreement.
func TestShortAnswersAreNoAgreement(t *testing.T) {
	require.NoError(t, Local(2, func(w *World) error {
		c := w.Comm()
		if w.Rank() == 1 {
			to := c.control(0, tagDup)
			h := transport.Header{A: frameEager | uint64(to.Context)<<32, B: uint64(to.Tag)}
			require.NoError(t, forge(w, 0, h, make([]byte, 7)))
			// This rank does not wait for the genuine message of rank 0.
			return nil
		}
		_, err := c.Dup()
		require.ErrorIs(t, err, ErrArgument)
		return nil
	}))
}

// sharedOf returns the Shared of rank 0 and the cards (see Shared.allocate) of the three ranks of
// its node. In this Shared, the parts of the two other ranks are not yet attached.
func sharedOf(tb testing.TB, size int) (*Shared, []uint64) {
	tb.Helper()
	worlds := make([]*World, 3)
	ready, over := make(chan *World), make(chan struct{})
	ended := make(chan error, 1)
	go func() {
		ended <- Local(3, func(w *World) error {
			ready <- w
			<-over
			return nil
		})
	}()
	for range worlds {
		w := <-ready
		worlds[w.Rank()] = w
	}
	tb.Cleanup(func() {
		close(over)
		require.NoError(tb, <-ended)
	})
	var all []uint64
	var first *Shared
	for rank, w := range worlds {
		s := newShared(w.Comm(), w.Comm().members(), w.Rank(), size)
		card, err := s.allocate()
		require.NoError(tb, err)
		all = append(all, card...)
		if rank == 0 {
			first = s
		}
	}
	return first, all
}

// again returns a copy of s as it was before attach.
func (s *Shared) again() *Shared {
	n := &Shared{world: s.world, memory: s.memory, members: s.members, me: s.me, size: s.size, layout: s.layout, lease: s.lease}
	n.parts = make([][]byte, len(s.members))
	n.parts[s.me] = s.lease.Bytes
	return n
}

// FuzzSharedCards passes arbitrary cards of the other ranks to attach. It requires an error, or
// memory that can be accessed.
func FuzzSharedCards(f *testing.F) {
	const size = 100
	for _, word := range []int{cardFailed, cardSize, cardNode, cardAddr, cardToken} {
		for _, v := range []uint64{0, 1, 4, 8, 64, size, 4096, 1 << 22, 1<<36 - 4096, 1 << 36, 1 << 46, 1 << 63, 1<<64 - 4096, 1<<64 - 1} {
			f.Add(uint8(1), uint8(word), v, uint8(2), uint8(word), v)
			f.Add(uint8(1), uint8(word), v, uint8(2), uint8(cardAddr), v+4)
		}
	}
	made, good := sharedOf(f, size)
	f.Fuzz(func(t *testing.T, rank1, word1 uint8, v1 uint64, rank2, word2 uint8, v2 uint64) {
		cards := append([]uint64(nil), good...)
		for _, c := range []struct {
			rank, word uint8
			v          uint64
		}{{rank1, word1, v1}, {rank2, word2, v2}} {
			cards[(1+int(c.rank)%2)*cardWords+int(c.word)%cardWords] = c.v
		}
		s := made.again()
		if err := s.attach(cards); err != nil {
			return
		}
		for rank := range s.members {
			p := s.Part(rank)
			if p == nil {
				require.NotEqual(t, cards[rank*cardWords+cardNode], cards[cardNode])
				continue
			}
			require.Len(t, p, size)
			_ = s.Word(rank, 8).Load()
			_ = p[size-1]
		}
		require.Zero(t, s.sleepers.Load())
		for _, p := range s.part().gone {
			p.Load()
		}
	})
}
