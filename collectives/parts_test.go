package collectives_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/runtime"
)

// Wrong counts and displacements are refused before anything is sent, in the blocking, nonblocking
// and persistent forms.
func TestRefusedBlocks(t *testing.T) {
	world(t, 3, func(c *runtime.Comm) error {
		rank := c.Rank()
		v, w, one := make([]int, 9), make([]int, 9), make([]int, 1)
		ones, neg := []int{1, 1, 1}, []int{1, -1, 1}
		for _, k := range []struct {
			err  error
			is   error
			says string
		}{
			{collectives.GatherV(c, one, v, []int{1, 1}, nil, rank), collectives.ErrLength, "recv has 2 counts, not 3"},
			{collectives.GatherV(c, one, v, ones, []int{0}, rank), collectives.ErrLength, "recv has 1 displacements, not 3"},
			{collectives.GatherV(c, one, v, neg, nil, rank), collectives.ErrLength, "count 1 of recv is -1"},
			{collectives.GatherV(c, one, v, ones, []int{0, -2, 4}, rank), collectives.ErrLength, "displacement 1 of recv is -2"},
			{collectives.GatherV(c, one, v, ones, []int{0, 1, 9}, rank), collectives.ErrLength, "recv holds 9 elements, but its block 2 begins at element 9 and has count 1"},
			{collectives.GatherV(c, one, v, ones, []int{0, 1, math.MaxInt}, rank), collectives.ErrLength, "recv holds 9 elements"},
			{collectives.GatherV(c, one, v, []int{1, 1, math.MaxInt}, nil, rank), collectives.ErrLength, "recv holds 9 elements"},
			{collectives.GatherV(c, v[:2], w, []int{2, 2, 2}, []int{0, 3, 1}, rank), runtime.ErrAlias, "blocks 0 and 2 of recv"},
			{collectives.GatherV(c, v[1:3], v, []int{2, 2, 2}, []int{3, 5, 7}, rank), runtime.ErrAlias, "send and recv"},
			{collectives.GatherV(c, one, v, ones, nil, 3), runtime.ErrRank, "root 3, but the ranks are 0 to 2"},
			{collectives.ScatterV(c, v, ones, nil, w[:2], rank), collectives.ErrLength, "recv holds 2 elements, but count"},
			{collectives.ScatterV(c, v, []int{4, 4, 4}, nil, w[:4], rank), collectives.ErrLength, "send holds 9 elements, but its block 2 begins at element 8 and has count 4"},
			{collectives.ScatterV(c, v, ones, nil, one, -1), runtime.ErrRank, "root -1"},
			{collectives.AllGatherV(c, one, v, nil, nil), collectives.ErrLength, "recv has 0 counts, not 3"},
			{collectives.AllGatherV(c, one, v, ones, []int{4, 4, 4}), runtime.ErrAlias, "blocks 0 and 1 of recv"},
			{collectives.AllGatherV(c, make([]*int, 1), make([]*int, 3), ones, nil), runtime.ErrElementType, "int"},
			{collectives.AllToAllV(c, v, neg, nil, w, ones, nil), collectives.ErrLength, "count 1 of send is -1"},
			{collectives.AllToAllV(c, v, ones, nil, w, neg, nil), collectives.ErrLength, "count 1 of recv is -1"},
			{collectives.AllToAllV(c, v, ones, nil, w, []int{2, 2, 2}, nil), collectives.ErrLength, "sends itself 1 elements and receives 2"},
			{collectives.AllToAllV(c, v[:5], ones, nil, v[2:], ones, nil), runtime.ErrAlias, "send and recv"},
			{collectives.ReduceScatter(c, v, w[:3], []int{3, 3, 2}, collectives.Sum), collectives.ErrLength, "send holds 9 elements, not 8"},
			{collectives.ReduceScatter(c, v, w[:2], []int{3, 3, 3}, collectives.Sum), collectives.ErrLength, "recv holds 2 elements"},
			{collectives.ReduceScatter(c, v, v[(3*rank+3)%9:][:3], []int{3, 3, 3}, collectives.Sum), runtime.ErrAlias, "send and recv"},
			{collectives.ReduceScatter(c, v, w[:3], []int{3, 3, 3}, nil), collectives.ErrOp, "no operator"},
			{collectives.ReduceScatterBlock(c, v, w[:2], collectives.Sum), collectives.ErrLength, "send holds 9 elements, not 6"},
			{collectives.Scan(c, v, w[:2], collectives.Sum), collectives.ErrLength, "recv holds 2 elements, not 9"},
			{collectives.ExScan(c, v[:8], v[1:], collectives.Sum), runtime.ErrAlias, "send and recv"},
			{collectives.Scan(c, make([]complex64, 1), make([]complex64, 1), collectives.Max), collectives.ErrOp, "Max"},
			{waited(collectives.IGatherV(c, one, v, neg, nil, rank)), collectives.ErrLength, "gatherv: buffer has the wrong length: count 1 of recv is -1"},
			{startedTwice(collectives.AllGatherVInit(c, one, v, neg, nil)), collectives.ErrLength, "allgatherv: buffer has the wrong length: count 1 of recv is -1"},
		} {
			if !errors.Is(k.err, k.is) || !strings.Contains(k.err.Error(), k.says) {
				return fmt.Errorf("want %q, got %w", k.says, k.err)
			}
		}
		return collectives.Barrier(c)
	})
}

// startedTwice starts a persistent operation with wrong arguments three times. Wait must return an error after each
// start. startedTwice returns the error after the third start, or nil if Wait returned none after an earlier start.
func startedTwice(p *runtime.Persistent) error {
	for range 2 {
		if err := p.Start(); err != nil {
			return fmt.Errorf("start: %w", err)
		}
		if _, err := p.Wait(); err == nil {
			return nil
		}
	}
	_ = p.Start()
	_, err := p.Wait()
	return err
}

// The displacement of an empty block may have any value, and blocks that are sent may overlap.
func TestBlocksThatAreAllowed(t *testing.T) {
	world(t, 3, func(c *runtime.Comm) error {
		got := make([]int, 2)
		err := collectives.AllGatherV(c, []int{c.Rank() + 1}[:min(1, c.Rank())], got, []int{0, 1, 1}, []int{[]int{100, -1, math.MinInt}[c.Rank()], 1, 0})
		err = errors.Join(err, equal(c, "allgatherv", got, []int{3, 2}))
		sent, recv := []int{7, 8, 9}, make([]int, 2)
		err = errors.Join(err, collectives.ScatterV(c, sent, []int{2, 2, 2}, []int{0, 1, 0}, recv, 1))
		return errors.Join(err, equal(c, "scatterv", recv, [][]int{{7, 8}, {8, 9}, {7, 8}}[c.Rank()]))
	})
}

// If the counts of a member differ from the lengths that the other members send, the members get an
// error, and the communicator is broken.
func TestCountsThatDiffer(t *testing.T) {
	for name, run := range map[string]func(c *runtime.Comm, odd int) error{
		"gatherv": func(c *runtime.Comm, odd int) error {
			return collectives.GatherV(c, make([]int, 2+odd), make([]int, 6), []int{2, 2, 2}, nil, 0)
		},
		"scatterv": func(c *runtime.Comm, odd int) error {
			return collectives.ScatterV(c, make([]int, 6), []int{2, 2, 2}, nil, make([]int, 2+odd), 0)
		},
		"allgatherv": func(c *runtime.Comm, odd int) error {
			return collectives.AllGatherV(c, make([]int, 2), make([]int, 7), []int{2 - odd, 2 + odd, 2}, nil)
		},
		"alltoallv": func(c *runtime.Comm, odd int) error {
			counts := []int{1 + odd, 1, 1}
			return collectives.AllToAllV(c, make([]int, 9), counts, nil, make([]int, 9), []int{1, 1, 1}, nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			world(t, 3, func(w *runtime.Comm) error {
				c, err := w.Dup()
				if err != nil {
					return err
				}
				odd := 0
				if c.Rank() == 2 {
					odd = 1
				}
				err = errors.Join(run(c, odd), collectives.Barrier(c))
				if err == nil || !errors.Is(c.Err(), runtime.ErrCommBroken) {
					return fmt.Errorf("rank %d: counts that differ give %w", c.Rank(), err)
				}
				return nil
			})
		})
	}
}
