package collectives_test

import (
	"fmt"
	"testing"

	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/runtime"
)

// placements give the node of each rank: nodes with equal and with different numbers of ranks,
// ranks that alternate between nodes, and nodes with one rank.
var placements = [][]int{
	{0, 0, 1},
	{0, 0, 1, 1},
	{0, 1, 0, 1, 2},
	{0, 1, 1, 1, 2, 2, 2},
	{0, 1, 2, 0, 1, 2, 0, 0},
}

// Operations of ranks on several nodes give right results, also with operators that do not commute.
// Nodes may have different numbers of ranks, and the ranks of a node need not be consecutive.
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

// Every algorithm of every operation gives right results if the ranks are on several nodes.
func TestEveryAlgorithmOnNodes(t *testing.T) {
	then := collectives.Func(compose, false)
	places, lengths := placements[1:4], []int{1, 3000}
	if testing.Short() {
		places, lengths = placements[2:3], []int{3000}
	}
	for op, names := range collectives.Algorithms() {
		for _, name := range names {
			t.Run(op+"="+name, func(t *testing.T) {
				for _, nodes := range places {
					world(t, len(nodes), func(c *runtime.Comm) error {
						if err := collectives.Placed(c, nodes); err != nil {
							return err
						}
						if err := collectives.Override(c, op+"="+name); err != nil {
							return err
						}
						for _, n := range lengths {
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
