package node_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/collectives/internal/node"
)

// differing runs fn as every member of a group until all have ended, and returns their errors.
// The first member to end also ends the waits of the others.
func differing(t *testing.T, c node.Config, fn func(rank int, g *node.Group) error) []error {
	t.Helper()
	room, errs := newRoom(c.Size), make([]error, c.Size)
	var wg sync.WaitGroup
	for rank := range c.Size {
		wg.Go(func() {
			c := c
			c.Rank, c.Open, c.Reader = rank, room.opener(), ownMemory{}
			c.Place = func() string { return fmt.Sprintf("line of %d", rank) }
			g, err := node.New(c)
			if err == nil {
				peers.Store(g, room.peer(rank, &heap{room: room}))
				defer peers.Delete(g)
				err = fn(rank, g)
			}
			errs[rank] = err
			room.leave()
		})
	}
	wg.Wait()
	return errs
}

// TestMembersThatDiffer tests every operation. After some equal calls, one member makes another call
// than the other members. At least one member must get a MismatchError, which has another member and two different
// calls; the call of the other member may be missing.
func TestMembersThatDiffer(t *testing.T) {
	for _, op := range operations {
		t.Run(op.name, func(t *testing.T) {
			for _, size := range []int{2, 3, 5} {
				for _, crowded := range []bool{false, true} {
					for odd := range size {
						for name, wrong := range map[string]node.Call{"what": {What: 2, Bytes: 24}, "length": {What: 1, Bytes: 32}} {
							differ(t, op, node.Config{Size: size, Crowded: crowded, Segment: 256, Slots: slotCount}, odd, name, wrong)
						}
					}
				}
			}
		})
	}
}

func differ(t *testing.T, op operation, c node.Config, odd int, name string, wrong node.Call) {
	t.Helper()
	right := node.Call{What: 1, Bytes: 24}
	errs := differing(t, c, func(rank int, g *node.Group) error {
		var trail node.Trail
		for round := 0; ; round++ {
			mine := right
			if rank == odd && round == slotCount {
				mine = wrong
			}
			g.Enter(mine, trail.Follow(mine))
			if c := (call{round, c.Size, 3, 0}); round <= slotCount && op.fits(g, c) {
				if err := perform(g, rank, op, c); err != nil {
					return err
				}
			} else if err := g.BarrierCounter(); err != nil { // in a barrier, all members compare their calls
				return err
			}
		}
	})
	found := 0
	for rank, err := range errs {
		var m *node.MismatchError
		if !errors.As(err, &m) {
			require.ErrorIs(t, err, errGone, "%s, odd %d, member %d", name, odd, rank)
			continue
		}
		found++
		require.Equal(t, rank, m.Member)
		require.NotEqual(t, rank, m.Other)
		require.NotEqual(t, m.Mine, m.Theirs, "%v", m)
		require.Contains(t, []node.Call{right, wrong}, m.Mine)
		require.Contains(t, []node.Call{right, wrong, {}}, m.Theirs)
		require.Contains(t, []string{"", fmt.Sprintf("line of %d", rank)}, m.Here)
		require.Contains(t, []string{"", fmt.Sprintf("line of %d", m.Other)}, m.There)
	}
	require.Positive(t, found, "%s, odd %d: %v", name, odd, errs)
}

// TestSecondToNoticeKnowsBothLines lets two members notice a mismatch, one after the other. It checks
// that the second one reports the source lines of both members. The line of the first member is cut to the length
// that shared memory has room for.
func TestSecondToNoticeKnowsBothLines(t *testing.T) {
	long := strings.Repeat("x", 2*node.PlaceMax)
	room := newRoom(2)
	open := func(rank int) *node.Group {
		g, err := node.New(node.Config{Rank: rank, Size: 2, Open: room.opener(), Place: func() string { return fmt.Sprint(rank, long) }})
		require.NoError(t, err)
		return g
	}
	groups := []*node.Group{open(0), open(1)}
	var trails [2]node.Trail
	// Fill the ring of statements. Only the last statements differ.
	for round := range node.StatementCount {
		for rank, g := range groups {
			said := node.Call{What: 7}
			if round == node.StatementCount-1 {
				said.What += uint64(rank)
			}
			g.Enter(said, trails[rank].Follow(said))
		}
	}
	room.leave() // so that no member waits for long
	var first, second *node.MismatchError
	require.ErrorAs(t, groups[0].BarrierFlags(), &first)
	require.ErrorAs(t, groups[1].BarrierFlags(), &second)
	require.Equal(t, node.MismatchError{Member: 0, Other: 1, Mine: node.Call{What: 7}, Theirs: node.Call{What: 8}, Number: node.StatementCount, Here: fmt.Sprint(0, long)}, *first)
	require.Equal(t, node.MismatchError{
		Member: 1, Other: 0, Mine: node.Call{What: 8}, Theirs: node.Call{What: 7}, Number: node.StatementCount, Here: fmt.Sprint(1, long), There: fmt.Sprint(0, long)[:node.PlaceMax],
	}, *second)
	require.ErrorContains(t, second, "members 1 and 0")
}
