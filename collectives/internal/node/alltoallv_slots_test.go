package node_test

import (
	"bytes"
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/collectives/internal/message"
	"github.com/gorun-hpc/gorun/collectives/internal/node"
)

// TestTablesOfMembersThatAreAhead delays member 1 in an AllToAllVSlots until member 0 has ended it, and has used its
// slot of that step again. The choice of a way to copy long parts takes further steps, as CanPull and PullsFaster do.
// Member 1 must still know which parts are not in the slots.
func TestTablesOfMembersThatAreAhead(t *testing.T) {
	const size, slots, segments, part = 2, 4, 3, 3 << 14
	room, ahead := newRoom(size), make(chan struct{})
	member := func(rank int) error {
		left := 0 // the segments that this member has yet to wait for
		awaits := func() {
			if left--; rank == 1 && left == 0 { // this member has written all segments
				<-ahead
			}
		}
		g, err := node.New(node.Config{Rank: rank, Size: size, Slots: slots, Open: room.opener(), Awaits: awaits})
		if err != nil {
			return err
		}
		// The first large operation opens the memory of all large operations.
		if err := g.AllReduceSegments(make([]byte, 8), make([]byte, 8), product); err != nil {
			return err
		}
		recv := make([]byte, size*part)
		c := &message.Call{Send: bytes.Repeat([]byte{byte(rank + 1)}, size*part), Recv: recv, SendParts: message.Equal(part), RecvParts: message.Equal(part)}
		err = g.AllToAllVSlots(nil, c, func(int) (node.LongParts, error) {
			err := errors.Join(g.BarrierCounter(), g.BcastSmall(make([]byte, 1), 0))
			left = segments
			return node.BySegments, err
		})
		if err != nil {
			return err
		}
		for range slots - 2 { // the choice has taken two steps; the last of these steps reuses the slot of the AllToAllVSlots
			if err := g.BcastSmall(bytes.Repeat([]byte{1}, 56), 0); err != nil {
				return err
			}
		}
		if !bytes.Equal(recv, append(bytes.Repeat([]byte{1}, part), bytes.Repeat([]byte{2}, part)...)) {
			return errors.New("wrong bytes")
		}
		return nil
	}
	errs := make([]error, size)
	var wg sync.WaitGroup
	for rank := range size {
		wg.Go(func() {
			if errs[rank] = member(rank); errs[rank] != nil {
				room.leave()
			}
			if rank == 0 {
				close(ahead)
			}
		})
	}
	wg.Wait()
	require.NoError(t, errors.Join(errs...))
}
