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

// TestSnapshotsAreCopiedAgainDespiteAClaim simulates a rank that claims a key and is lost before it saves anything.
// Then the rank with the copy of the snapshot is lost. The next rank must accept a new copy, although it has granted
// the claim.
func TestSnapshotsAreCopiedAgainDespiteAClaim(t *testing.T) {
	overNetwork(t)
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
		require.NoError(t, all[0].Root.StopFuture(pid).Wait())
		for rank := range 3 {
			stores[rank].Claim("account", 4*100+3)
			all[rank].Lose(3)
		}
		all[0].Lose(1)
		all[2].Lose(1)
		require.Eventually(t, func() bool { return stores[2].Holds("account") }, soon, time.Millisecond)
		pid, err = all[2].Spawn(newAccount(stores[2], nil), "account")
		require.NoError(t, err)
		v, err := all[2].Root.RequestFuture(pid, entry{2, 1}, soon).Result()
		require.NoError(t, err)
		require.Equal(t, balance{map[int]int{0: 1, 2: 1}, 2}, v)
	})
}

// TestSnapshotsAreCopiedAgainInTheNextWorld gives a rank a new Store, as a new process has, and opens all Stores in a
// new World. The rank must get the snapshot of which it has lost a copy, although no actor is started there. So the
// snapshot outlives all ranks, one after the other.
func TestSnapshotsAreCopiedAgainInTheNextWorld(t *testing.T) {
	stores := make([]*actors.Store, 3)
	for rank := range stores {
		stores[rank] = actors.NewStore()
	}
	world := func(test func(all []*actors.System)) {
		local(t, len(stores), actors.Config{}, func(all []*actors.System) {
			for rank, s := range all {
				require.NoError(t, stores[rank].Open(s))
			}
			test(all)
		})
	}
	world(func(all []*actors.System) {
		pid, err := all[0].Spawn(newAccount(stores[0], nil), "account")
		require.NoError(t, err)
		_, err = enter(all[0], pid, 1, 1)
		require.NoError(t, err)
	})
	for _, lost := range []int{0, 1, 0} {
		stores[lost] = actors.NewStore()
		world(func([]*actors.System) {
			require.Eventually(t, func() bool { return stores[lost].Holds("account") }, soon, time.Millisecond)
		})
	}
}
