package tier_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/collectives/internal/kernel"
	"github.com/gorun-hpc/gorun/collectives/internal/message"
	"github.com/gorun-hpc/gorun/collectives/internal/tier"
)

// layout says where ranks are: rank r is on node of[r]. If inside is not nil, rank r belongs to cache
// inside[r] of its node.
type layout struct{ of, inside []int }

// layouts returns groups of equal and of different size, with one rank and with all ranks, in
// order and interleaved, and layouts of three levels. With GORUN_SOAK=1 there are up to 257
// ranks.
func layouts() []layout {
	all := []layout{
		{of: []int{0}},
		{of: []int{0, 0}},
		{of: []int{0, 1}},
		{of: []int{0, 0, 1}},
		{of: []int{0, 1, 1, 1}},
		{of: []int{0, 0, 1, 1}},
		{of: []int{0, 1, 0, 1, 2}},
		{of: []int{0, 0, 0, 1, 2, 2, 0}},
		{of: []int{0, 0, 0, 1, 1, 1, 2, 2, 2}},
		{of: []int{0, 0, 0, 0, 1, 1, 1, 1}, inside: []int{0, 0, 1, 1, 0, 1, 0, 1}},
		{of: []int{0, 1, 0, 0, 1, 0, 0, 2, 0}, inside: []int{7, 1, 3, 7, 4, 7, 3, 0, 1}},
	}
	if os.Getenv("GORUN_SOAK") != "1" {
		return all
	}
	for size := 1; size <= 257; size += 1 + size/9 {
		near, far, inside := make([]int, size), make([]int, size), make([]int, size)
		for r := range size {
			near[r], far[r], inside[r] = r/5, r%min(size, 7), r/2%3
		}
		all = append(all, layout{of: near}, layout{of: far}, layout{of: near, inside: inside})
	}
	return all
}

// affine is x -> A*x + B modulo 2^32. Composition is associative and not commutative.
type affine struct{ A, B uint32 }

func compose(dst, a, b []byte) {
	d, f, g := kernel.View[affine](dst), kernel.View[affine](a), kernel.View[affine](b)
	for i := range d {
		d[i] = affine{f[i].A * g[i].A, f[i].A*g[i].B + f[i].B}
	}
}

var (
	sum     = message.Reduction{Fn: kernel.Of(kernel.Sum, kernel.Uint64), Elem: 8, Commutative: true}
	product = message.Reduction{Fn: compose, Elem: 8}
)

// long is the number of elements of a vector that is divided into several pieces, the last of
// which is short.
const long = 2<<17 + 1

// data returns n elements of rank r. No other rank and no other index has the same element.
func data(r, n int) []byte {
	v := make([]uint64, n)
	for i := range v {
		v[i] = uint64(r*1_000_003+i*7919)*2654435761 | 1
	}
	return kernel.Bytes(v)
}

// each runs test for all layouts and for lengths up to long.
func each(t *testing.T, long int, test func(t *testing.T, l layout, n int)) {
	t.Helper()
	for _, l := range layouts() {
		for _, n := range []int{0, 1, 61, long} {
			if n > 100 && len(l.of) > 9 {
				continue
			}
			t.Run(fmt.Sprintf("%v%vx%d", l.of, l.inside, n), func(t *testing.T) { test(t, l, n) })
		}
	}
}

func same(p message.Peer, got, want []byte) error {
	if !bytes.Equal(got, want) {
		return fmt.Errorf("rank %d has a wrong result", p.Rank())
	}
	return nil
}

func TestBarrier(t *testing.T) {
	for _, l := range layouts() {
		var inside atomic.Int64
		run(t, l.of, l.inside, func(n *tier.Nested) error {
			for round := range int64(3) {
				inside.Add(1)
				if err := n.Barrier(); err != nil {
					return err
				}
				if got := inside.Load(); got < (round+1)*int64(n.Size()) {
					return fmt.Errorf("rank %d left round %d when %d had come", n.Rank(), round, got)
				}
			}
			return nil
		})
	}
}

func TestBcast(t *testing.T) {
	each(t, long, func(t *testing.T, l layout, n int) {
		t.Helper()
		for root := 0; root < len(l.of); root += 1 + len(l.of)/9 {
			crossed, sent := run(t, l.of, l.inside, func(p *tier.Nested) error {
				buf := make([]byte, 8*n)
				if p.Rank() == root {
					buf = data(root, n)
				}
				return errors.Join(p.Bcast(buf, root), same(p, buf, data(root, n)))
			})
			if n < 100 {
				groups := len(tier.Divide(l.of, 0).Groups)
				require.Equal(t, groups-1, crossed, "a message to every other group")
				require.Equal(t, len(l.of)-1, sent, "a message to every other rank")
			}
		}
	})
}

func TestReductions(t *testing.T) {
	each(t, long, func(t *testing.T, l layout, n int) {
		t.Helper()
		for _, op := range []message.Reduction{sum, product} {
			if !op.Commutative && !tier.Divide(l.of, 0).InOrder() || !op.Commutative && l.inside != nil {
				continue
			}
			want := data(0, n)
			for q := 1; q < len(l.of); q++ {
				op.Fn(want, want, data(q, n))
			}
			run(t, l.of, l.inside, func(p *tier.Nested) error {
				send, recv := data(p.Rank(), n), make([]byte, 8*n)
				err := errors.Join(p.AllReduce(send, recv, op), same(p, recv, want), same(p, send, data(p.Rank(), n)))
				err = errors.Join(err, p.AllReduce(send, send, op), same(p, send, want)) // in place
				for root := 0; root < p.Size(); root += 1 + p.Size()/9 {
					buf := data(p.Rank(), n)
					if p.Rank() != root {
						err = errors.Join(err, p.Reduce(buf, nil, root, op), same(p, buf, data(p.Rank(), n)))
						continue
					}
					clear(recv)
					err = errors.Join(err, p.Reduce(buf, recv, root, op), same(p, recv, want), same(p, buf, data(root, n)))
				}
				return err
			})
		}
	})
}

func TestBlocks(t *testing.T) {
	each(t, 1200, func(t *testing.T, l layout, n int) {
		t.Helper()
		var joined []byte
		for r := range l.of {
			joined = append(joined, data(r, n)...)
		}
		run(t, l.of, l.inside, func(p *tier.Nested) error {
			mine := data(p.Rank(), n)
			rows := make([]byte, 8*n*p.Size())
			err := errors.Join(p.AllGather(mine, rows), same(p, rows, joined))
			clear(rows)
			own := rows[8*n*p.Rank():][:8*n]
			copy(own, mine)
			err = errors.Join(err, p.AllGather(own, rows), same(p, rows, joined)) // in place
			for root := 0; root < p.Size(); root += 1 + p.Size()/9 {
				err = errors.Join(err, rooted(p, mine, joined, root))
			}
			return err
		})
	})
}

// rooted calls Gather and Scatter with a root and compares the results.
func rooted(p *tier.Nested, mine, joined []byte, root int) error {
	got := make([]byte, len(mine))
	if p.Rank() != root {
		return errors.Join(p.Gather(mine, nil, root), p.Scatter(nil, got, root), same(p, got, mine))
	}
	rows := make([]byte, len(joined))
	err := errors.Join(p.Gather(mine, rows, root), same(p, rows, joined))
	return errors.Join(err, p.Scatter(joined, got, root), same(p, got, mine))
}

func TestAllToAll(t *testing.T) {
	each(t, 400, func(t *testing.T, l layout, n int) {
		t.Helper()
		run(t, l.of, l.inside, func(p *tier.Nested) error {
			var send, want []byte
			for q := range p.Size() {
				send = append(send, data(p.Rank()*1000+q, n)...)
				want = append(want, data(q*1000+p.Rank(), n)...)
			}
			recv := make([]byte, len(send))
			return errors.Join(p.AllToAll(send, recv), same(p, recv, want))
		})
	})
}

// recorder is a message.Peer that records the ranks of the exchanges that are started.
type recorder struct {
	member
	started [][2]int
}

func (r *recorder) Start(to int, _ []byte, from int, _ []byte) error {
	r.started = append(r.started, [2]int{to, from})
	return nil
}

func TestSubsetStartsWithRanksOfItsPeer(t *testing.T) {
	var r recorder
	s := tier.NewSubset(&r, []int{4, 7, 9}, 1)
	for _, pair := range [][2]int{{0, 2}, {message.Nobody, 2}, {0, message.Nobody}} {
		require.NoError(t, s.Start(pair[0], nil, pair[1], nil))
	}
	require.Equal(t, [][2]int{{4, 9}, {message.Nobody, 9}, {4, message.Nobody}}, r.started)
}

func TestDivide(t *testing.T) {
	p := tier.Divide([]int{0, 1, 0, 2, 1}, 4)
	require.Equal(t, tier.Parts{Groups: [][]int{{0, 2}, {1, 4}, {3}}, Group: 1, Place: 1}, p)
	require.Equal(t, []int{1, 4}, p.Mine())
	require.Equal(t, []int{0, 1, 3}, p.Leaders())
	require.False(t, p.InOrder())
	require.True(t, tier.Divide([]int{0, 0, 1}, 0).InOrder())
}
