package collectives_test

import (
	"fmt"
	"testing"

	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/runtime"
)

// placements are the nodes of ranks: blocks of equal and of different length, in turn, and nodes
// of one rank.
var placements = [][]int{
	{0, 0, 1},
	{0, 0, 1, 1},
	{0, 1, 0, 1, 2},
	{0, 1, 1, 1, 2, 2, 2},
	{0, 1, 2, 0, 1, 2, 0, 0},
}

// Ranks of several nodes, some of which share one: uneven nodes, nodes whose ranks do not follow
// each other, and operators that do not commute.
func TestTwoLevels(t *testing.T) {
	then := collectives.Func(compose, false)
	for _, nodes := range placements {
		t.Run(fmt.Sprint(nodes), func(t *testing.T) {
			world(t, len(nodes), func(c *runtime.Comm) error {
				if err := collectives.Placed(c, nodes); err != nil {
					return err
				}
				for _, n := range []int{0, 1, 40, 3000} {
					for root := range c.Size() {
						if err := rooted(c, n, root, then); err != nil {
							return err
						}
					}
					if err := rootless(c, n, then); err != nil {
						return err
					}
					if err := collectives.Barrier(c); err != nil {
						return err
					}
				}
				return nil
			})
		})
	}
}

// Every algorithm of every operation on ranks of several nodes.
func TestEveryAlgorithmOnNodes(t *testing.T) {
	then := collectives.Func(compose, false)
	for op, names := range collectives.Algorithms() {
		for _, name := range names {
			t.Run(op+"="+name, func(t *testing.T) {
				for _, nodes := range placements[1:4] {
					world(t, len(nodes), func(c *runtime.Comm) error {
						if err := collectives.Placed(c, nodes); err != nil {
							return err
						}
						if err := collectives.Override(c, op+"="+name); err != nil {
							return err
						}
						for _, n := range []int{1, 3000} {
							if err := rooted(c, n, n%c.Size(), then); err != nil {
								return err
							}
							if err := rootless(c, n, then); err != nil {
								return err
							}
						}
						return collectives.Barrier(c)
					})
				}
			})
		}
	}
}
