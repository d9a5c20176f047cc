package actors_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime/actors"
)

// TestSnapshotsOfActorsThatEnd loses two ranks, in either order: the rank of an actor, and the rank that keeps the copy
// of the actor's snapshot. In one case the actor has ended before. A later actor with the same key must get the
// snapshot, because another rank has got a copy in between.
func TestSnapshotsOfActorsThatEnd(t *testing.T) {
	// A rank that is declared lost continues to run, and could still write to shared memory.
	overNetwork(t)
	for name, test := range map[string]struct {
		stops bool
		lost  []int
	}{
		"the copy is lost first":                        {true, []int{1, 0}},
		"the copy of an actor that lives is lost first": {false, []int{1, 0}},
		"the actor is lost first":                       {false, []int{0, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			local(t, 4, actors.Config{}, func(all []*actors.System) {
				var stores []*actors.Store
				for rank, s := range all {
					stores = append(stores, actors.NewStore())
					require.NoError(t, stores[rank].Open(s))
				}
				pid, err := all[0].Spawn(newAccount(stores[0], nil), "account")
				require.NoError(t, err)
				_, err = enter(all[0], pid, 1, 1)
				require.NoError(t, err)
				if test.stops {
					require.NoError(t, all[0].Root.StopFuture(pid).Wait())
				}
				for i, lost := range test.lost {
					for rank, s := range all {
						if !slices.Contains(test.lost[:i+1], rank) {
							s.Lose(lost)
						}
					}
					require.Eventually(t, func() bool { return stores[2].Holds("account") }, soon, time.Millisecond)
				}
				pid, err = all[2].Spawn(newAccount(stores[2], nil), "account")
				require.NoError(t, err)
				v, err := all[2].Root.RequestFuture(pid, entry{2, 1}, soon).Result()
				require.NoError(t, err)
				require.Equal(t, balance{map[int]int{0: 1, 2: 1}, 2}, v)
			})
		})
	}
}
