package runtime

import (
	"context"
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime/internal/engine"
)

// mirror receives n+1 messages that match the argument at, and sends each of the first n back to its sender. It returns
// the words of the messages.
func mirror(t *testing.T, e *engine.Engine, at engine.Match, n int) (words [][]uint64) {
	t.Helper()
	for i := range n + 1 {
		b := make([]byte, 1<<10)
		s, err := e.Recv(context.Background(), at, byteElement.typ, b)
		require.NoError(t, err)
		if i < n {
			require.NoError(t, e.Send(context.Background(), at, byteElement.typ, b[:s.Bytes], engine.Standard))
		}
		list := make([]uint64, s.Bytes/wordBytes)
		for k := range list {
			list[k] = binary.LittleEndian.Uint64(b[k*wordBytes:])
		}
		words = append(words, list)
	}
	return words
}

// If the call that makes a communicator fails at one rank after another rank has got all votes, the other rank makes
// the communicator. The operations of the other rank on this communicator do not wait for the rank at which the call
// has failed, but end. Rank 1 plays the other rank: it sends back what it gets from rank 0 and withholds the last
// message, for which rank 0 waits until its context.Context ends.
func TestCommunicatorThatOneRankMakes(t *testing.T) {
	for name, c := range map[string]struct {
		tag int
		// mirrored is the number of messages that rank 1 sends back, proposal the index of the words of the proposal.
		mirrored, proposal int
		inter              bool // the call is made on an Intercomm
		call               func(c *Comm, t *Intercomm) error
	}{
		"Dup":    {tagDup, 1, 0, false, func(c *Comm, _ *Intercomm) error { _, err := c.Dup(); return err }},
		"Split":  {tagSplit, 1, 0, false, func(c *Comm, _ *Intercomm) error { _, err := c.Split(0, 0); return err }},
		"Create": {tagCreate, 1, 0, false, func(c *Comm, _ *Intercomm) error { _, err := c.Create(c.Group(), 0); return err }},
		"CreateCart": {tagCart, 1, 0, false, func(c *Comm, _ *Intercomm) error {
			_, err := c.CreateCart([]int{2}, []bool{false}, false)
			return err
		}},
		"CreateGraph": {tagGraph, 1, 0, false, func(c *Comm, _ *Intercomm) error {
			_, err := c.CreateGraph(nil, nil, nil, nil, false)
			return err
		}},
		"edges of CreateGraph": {tagGraph, 3, 0, false, func(c *Comm, _ *Intercomm) error {
			_, err := c.CreateGraph(nil, nil, nil, nil, false)
			return err
		}},
		"Merge":            {tagInter, 5, 3, true, func(_ *Comm, t *Intercomm) error { _, err := t.Merge(false); return err }},
		"Dup of Intercomm": {tagInter, 3, 1, true, func(_ *Comm, t *Intercomm) error { _, err := t.Dup(); return err }},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			require.NoError(t, Local(2, func(w *World) error {
				parent, err := w.Comm().Dup()
				require.NoError(t, err)
				connection := &Intercomm{Comm: parent, local: parent}
				if c.inter {
					own, err := parent.Split(w.Rank(), 0)
					require.NoError(t, err)
					connection, err = own.CreateIntercomm(0, parent, 1-w.Rank(), 0)
					require.NoError(t, err)
				}
				if w.Rank() == 0 {
					err := c.call(parent.WithContext(ctx), &Intercomm{connection.Comm.WithContext(ctx), connection.local.WithContext(ctx)})
					require.ErrorIs(t, err, context.Canceled)
					return nil
				}
				words := mirror(t, w.engine, connection.control(0, c.tag), c.mirrored)
				first := words[c.proposal]
				p := proposal{first[0], first[1], first[2]}
				number := uint32(common([]proposal{p, p}))
				require.True(t, w.comms.claim(number))
				w.comms.stamp(number, first[3])
				cancel()
				var made *Comm
				if name == "Dup of Intercomm" {
					made = newIntercomm(connection.local, number, "made", []int{0}, []int{1})
				} else {
					made = newComm(w, number, "made", []int{0, 1}, 1)
				}
				_, err = Recv(made, []int{0}, 0, 0)
				require.ErrorIs(t, err, ErrCommBroken)
				return nil
			}))
		})
	}
}

// If two goroutines of a rank make shared memory, or a graph, from one communicator at the same time, both get
// ErrInUse. This also holds if the first call already exchanges its edges.
func TestConcurrentSharedAndGraphs(t *testing.T) {
	for name, c := range map[string]struct {
		tag   int
		first func(c *Comm) error // what rank 1 does before it waits
		call  func(c *Comm) error
	}{
		"NewShared": {tagShared, func(*Comm) error { return nil }, func(c *Comm) error { _, err := NewShared(c, 8); return err }},
		"CreateGraph": {tagGraph, func(c *Comm) error {
			_, err := c.agreeOnGraph("CreateGraph", nil, false, true)
			return err
		}, func(c *Comm) error { _, err := c.CreateGraph(nil, nil, nil, nil, false); return err }},
		"CreateGraphAdjacent": {tagGraph, func(c *Comm) error {
			_, err := c.agreeOnGraph("CreateGraphAdjacent", nil, true)
			return err
		}, func(c *Comm) error { _, err := c.CreateGraphAdjacent(nil, nil, nil, nil, true); return err }},
	} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, Local(2, func(w *World) error {
				parent, err := w.Comm().Dup()
				require.NoError(t, err)
				if w.Rank() == 1 {
					require.NoError(t, c.first(parent))
					_, err := w.engine.Probe(context.Background(), parent.control(0, c.tag)) // the first call is under way
					require.NoError(t, err)
					return Send(w.Comm(), []int{1}, 0, 0)
				}
				first := make(chan error, 1)
				go func() { first <- c.call(parent) }()
				_, err = Recv(w.Comm(), []int{0}, 1, 0)
				require.NoError(t, err)
				require.ErrorIs(t, c.call(parent), ErrInUse)
				require.ErrorIs(t, <-first, ErrInUse)
				return nil
			}))
		})
	}
}
