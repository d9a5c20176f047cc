package node_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/collectives/internal/node"
)

// TestReadersDoNotWaitForEachOther delays the first read of member 2 until member 1 has ended this operation and
// the next one, which has another root. Member 2 must still get the bytes of its own operation.
func TestReadersDoNotWaitForEachOther(t *testing.T) {
	const size, bytesEach = 4, 64
	ahead, reads := make(chan struct{}), 0
	late := readerFunc(func(p node.Process, addr uint64, dst []byte) error {
		if len(dst) > 0 { // not the probe of CanPull
			if reads++; reads == 1 {
				<-ahead
			}
		}
		return ownMemory{}.Read(p, addr, dst)
	})
	errs := each(t, newRoom(size), []node.Reader{ownMemory{}, ownMemory{}, late, ownMemory{}}, func(rank int, g *node.Group) error {
		var errs []error
		for i, root := range []int{0, 3, 0} {
			buf := make([]byte, bytesEach)
			if rank == root {
				buf = bytes.Repeat([]byte{byte(i + 1)}, bytesEach)
			}
			errs = append(errs, pulled(g, func() error { return g.BcastPull(buf, root) }))
			if !bytes.Equal(buf, bytes.Repeat([]byte{byte(i + 1)}, bytesEach)) {
				errs = append(errs, errors.New("wrong bytes"))
			}
			if rank == 1 && i == 1 {
				close(ahead)
			}
		}
		return errors.Join(errs...)
	})
	require.NoError(t, errors.Join(errs...))
}

// TestReadsCompareCalls checks that a member does not read from a member that makes another call. The first member
// that finds the difference ends the waits of the others, which may not have found it yet.
func TestReadsCompareCalls(t *testing.T) {
	errs := differing(t, node.Config{Size: 3, Segment: 256, Slots: slotCount}, func(rank int, g *node.Group) error {
		var trail node.Trail
		calls := []node.Call{{What: 1, Bytes: 24}, {What: 1, Bytes: 24}}
		if rank == 0 {
			calls[1].What = 2
		}
		for _, c := range calls {
			g.Enter(c, trail.Follow(c))
			if err := pulled(g, func() error { return g.BcastPull(make([]byte, 24), 0) }); err != nil {
				return err
			}
		}
		return nil
	})
	found := 0
	for _, err := range errs[1:] {
		if _, ok := errors.AsType[*node.MismatchError](err); ok {
			found++
			continue
		}
		require.ErrorIs(t, err, errGone)
	}
	require.Positive(t, found)
}
