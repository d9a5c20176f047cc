package node_test

import (
	"bytes"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/collectives/internal/message"
	"github.com/gorun-hpc/gorun/collectives/internal/node"
)

// TestReducePullOfHalves reduces contributions whose lengths are below and above pullHalvesMin, from which on each
// member combines one half. The two longest take several rounds.
// The operator does not commute, and an element has 3 bytes. In every second case, root's
// recv is the same slice as its send. The contribution of the other member must stay unchanged.
func TestReducePullOfHalves(t *testing.T) {
	mixed := message.Reduction{Elem: 3, Operator: message.UserOperator, Fn: func(dst, a, b []byte) {
		for i := range dst {
			dst[i] = 3*a[i] + b[i]
		}
	}}
	for i, n := range []int{2<<20 - 2, 2<<20 + 1, 6 << 20, 9<<20 + 3} {
		n -= n % mixed.Elem
		contributions := [][]byte{make([]byte, n), make([]byte, n)}
		want := make([]byte, n)
		for j := range n {
			contributions[0][j], contributions[1][j] = byte(j*7+j>>9), byte(j*13+j>>11)
		}
		mixed.Fn(want, contributions[0], contributions[1])
		for root := range 2 {
			run(t, node.Config{Size: 2}, func(rank int, g *node.Group) error {
				send := bytes.Clone(contributions[rank])
				recv := send
				if (i+root)%2 == 0 {
					recv = make([]byte, n)
				}
				err := pulled(g, func() error { return g.ReducePull(send, recv, root, mixed) })
				switch {
				case err != nil:
					return err
				case rank == root && !bytes.Equal(recv, want):
					return fmt.Errorf("%d bytes at root %d are not the combined contributions", n, root)
				case rank != root && !bytes.Equal(send, contributions[rank]):
					return fmt.Errorf("%d bytes of member %d have changed", n, rank)
				}
				return nil
			})
		}
	}
}

// TestContributorLeavesBeforeTheCombination checks that the member whose contribution root has read does not wait until
// root has combined it.
func TestContributorLeavesBeforeTheCombination(t *testing.T) {
	left := make(chan struct{})
	var late error
	waits := message.Reduction{Elem: 1, Operator: message.UserOperator, Fn: func(_, _, _ []byte) {
		select {
		case <-left:
		case <-time.After(20 * time.Second):
			late = errors.New("the contributor waits for the combination")
		}
	}}
	run(t, node.Config{Size: 2}, func(rank int, g *node.Group) error {
		err := pulled(g, func() error { return g.ReducePull(make([]byte, 8), make([]byte, 8), 0, waits) })
		if rank == 1 {
			close(left)
			return err
		}
		return errors.Join(err, late)
	})
}

// TestReducePullTellsWhatIsCopied checks that, when each member combines one half, Config.Note is called for all memory
// from which or into which members read: both contributions, the pieces that are read (half a contribution at each
// member), the other member's result, and root's half of recv into which root reads this result.
func TestReducePullTellsWhatIsCopied(t *testing.T) {
	const n = 4 << 20
	var told atomic.Int64
	first := message.Reduction{Elem: 1, Operator: message.UserOperator, Fn: func(dst, a, _ []byte) { copy(dst, a) }}
	run(t, node.Config{Size: 2, Note: func(b []byte) { told.Add(int64(len(b))) }}, func(_ int, g *node.Group) error {
		send, recv := make([]byte, n), make([]byte, n)
		return pulled(g, func() error { return g.ReducePull(send, recv, 0, first) })
	})
	require.EqualValues(t, 2*n+2*n/2+n/2+n/2, told.Load())
}
