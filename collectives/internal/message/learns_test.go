package message_test

import (
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/collectives/internal/kernel"
	"github.com/gorun-hpc/gorun/collectives/internal/message"
	"github.com/gorun-hpc/gorun/collectives/internal/message/messagetest"
)

// TestPartsThatGoStraight checks the results of the algorithms whose ranks learn lengths. Some parts are so long that
// they are sent directly, the others are sent along the tree.
func TestPartsThatGoStraight(t *testing.T) {
	for _, a := range message.Algorithms() {
		if a.Limits&message.Learns == 0 {
			continue
		}
		for _, ranks := range []int{2, 3, 6, 9} {
			agrees(t, &a, messagetest.Cases(&a, ranks, 2500))
		}
	}
}

// TestLengthsThatDiffer checks that a rank that knows another length than its peer causes
// ErrLength, for each of five ranks. The rank is never root.
func TestLengthsThatDiffer(t *testing.T) {
	for _, a := range message.Algorithms() {
		if a.Limits&message.Learns == 0 {
			continue
		}
		for odd := range 5 {
			k := messagetest.Case{Operation: a.Operation, Ranks: 5, Elements: 6, Root: (odd + 2) % 5}
			members, errs := group(k.Ranks), make([]error, k.Ranks)
			var failed sync.Once
			var wg sync.WaitGroup
			for rank, m := range members {
				wg.Go(func() {
					c := k.Call(rank)
					if rank == odd {
						differ(k.Operation, c)
					}
					if errs[rank] = a.Run(m, c); errs[rank] != nil {
						failed.Do(func() { close(m.done) })
					}
				})
			}
			wg.Wait()
			require.ErrorIs(t, errors.Join(errs...), message.ErrLength, "%v=%s, rank %d", a.Operation, a.Name, odd)
		}
	}
}

// differ changes the lengths in the call of a rank that is not root.
func differ(op message.Operation, c *message.Call) {
	switch op {
	case message.AllToAllV: // the rank sends one element more to each rank
		counts := make([]int, 5)
		for i := range counts {
			counts[i] = c.SendParts.Count(i) + messagetest.Elem
		}
		c.SendParts = message.Uneven(counts, nil, 1)
		c.Send = make([]byte, c.SendParts.Offset(4)+counts[4])
	case message.GatherV:
		c.Send = append(c.Send, make([]byte, messagetest.Elem)...)
	default:
		c.Recv = append(c.Recv, make([]byte, messagetest.Elem)...)
	}
}

// liar is a member that announces a very long part to the next rank. The destination of the part is
// the third rank after the liar.
type liar struct {
	*member
	lie  uint64
	told bool
}

// Exchange implements message.Peer.
func (l *liar) Exchange(to int, out []byte, from int, in []byte) error {
	if !l.told {
		l.told = true
		out = append(slices.Clone(out[:8]), kernel.Bytes([]uint64{l.lie})...) // the lengths at places 1 and 3
	}
	return l.member.Exchange(to, out, from, in)
}

// TestLengthsThatAreLies checks that the rank to which a member announces an impossible length returns ErrLength, and
// allocates less than 1 MiB of scratch memory.
func TestLengthsThatAreLies(t *testing.T) {
	k := messagetest.Case{Operation: message.AllToAllV, Ranks: 4, Elements: 6}
	for name, lie := range map[string]uint64{
		"alone":             1 << 40,
		"with the messages": 500 << 20,
		"all that there is": 1 << 63,
		"negative":          1<<64 - 16,
	} {
		members, errs := group(k.Ranks), make([]error, k.Ranks)
		var failed sync.Once
		var wg sync.WaitGroup
		for rank, m := range members {
			wg.Go(func() {
				p := message.Peer(m)
				if rank == 1 {
					p = &liar{member: m, lie: lie}
				}
				if errs[rank] = message.AllToAllVBruck(p, k.Call(rank)); errs[rank] != nil {
					failed.Do(func() { close(m.done) })
				}
			})
		}
		wg.Wait()
		require.ErrorIs(t, errs[2], message.ErrLength, name)
		require.Less(t, len(members[2].scratch), 1<<20, name)
	}
}
