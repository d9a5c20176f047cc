package node_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/collectives/internal/message"
	"github.com/gorun-hpc/gorun/collectives/internal/node"
)

// prepared is a part for which a member has called Config.FaultIn.
type prepared struct {
	first string // address of the first byte
	bytes int
	write bool
}

// expected returns what the member rank must have prepared of a memory: all parts, and its own part for writes.
func expected(h *heap, rank int) (all []prepared) {
	for q, part := range h.parts {
		all = append(all, prepared{fmt.Sprintf("%p", part), len(part), q == rank})
	}
	return all
}

// TestFaultIn checks when a member prepares the parts. It prepares the parts with the slots before it uses the slots,
// but not if members share processors. It prepares the parts with the segments before the first large operation, but
// not if these parts together are too long. It prepares each part once. A barrier needs no parts.
func TestFaultIn(t *testing.T) {
	const size = 3
	for name, tc := range map[string]struct {
		config       node.Config
		small, large bool
	}{
		"processors of their own": {node.Config{Segment: 256}, true, true},
		"shared processors":       {node.Config{Segment: 256, Crowded: true}, false, true},
		"long segments":           {node.Config{Segment: 768 << 10}, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			room, errs := newRoom(size), make([]error, size)
			var got, early [size][]prepared
			var wg sync.WaitGroup
			for rank := range size {
				wg.Go(func() {
					c := tc.config
					c.Rank, c.Size, c.Open = rank, size, room.opener()
					c.FaultIn = func(part []byte, write bool) {
						got[rank] = append(got[rank], prepared{fmt.Sprintf("%p", part), len(part), write})
					}
					g, err := node.New(c)
					if err == nil {
						err = g.BarrierFlags()
					}
					early[rank] = got[rank]
					for range 2 {
						send, recv := make([]byte, 1000), make([]byte, size*1000)
						if err == nil {
							err = g.AllGatherSmall(send, recv, message.Equal(len(send)))
						}
						if err == nil {
							err = g.AllGatherPipeline(send, recv, message.Equal(len(send)))
						}
					}
					errs[rank] = err
				})
			}
			wg.Wait()
			require.NoError(t, errors.Join(errs...))
			require.Len(t, room.memories, 2)
			for rank := range size {
				var want []prepared
				if tc.small {
					want = append(want, expected(room.memories[0], rank)...)
				}
				if tc.large {
					want = append(want, expected(room.memories[1], rank)...)
				}
				require.Empty(t, early[rank], "member %d, after a barrier", rank)
				require.ElementsMatch(t, want, got[rank], "member %d", rank)
			}
		})
	}
}
