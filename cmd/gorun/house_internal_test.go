package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A rank of a lost host gets a spare process of its program. If there is no such spare, it gets a free slot.
// Slots of spares of other programs are not free.
func TestLettings(t *testing.T) {
	one, two := &app{}, &app{}
	h := &host{slots: 4, spares: map[*app]int{one: 1, two: 1}}
	roomy := &host{slots: 2}
	full := &host{slots: 1, ranks: []*rank{{}}}
	lost := &host{}
	homes := func(programs ...*app) (all []*host) {
		taken := lettings{}
		for _, a := range programs {
			r := &rank{app: a, remote: lost}
			home := taken.best([]*host{full, roomy, h}, r)
			if home != nil {
				taken.let(home, r)
			}
			all = append(all, home)
		}
		return all
	}
	require.Equal(t, []*host{h, h}, homes(one, two))
	require.Equal(t, []*host{h, roomy, h, roomy, h, nil}, homes(one, one, one, one, one, one), "two's spare keeps its slot")
	cold := &rank{app: one, remote: lost, cold: true}
	require.Equal(t, h, lettings{}.best([]*host{h}, cold), "a rank that must not use a spare gets a free slot")
	h.slots = 2
	require.Nil(t, lettings{}.best([]*host{h}, cold), "the slots are those of spares")
}

// On one machine, the number of spares is at most the number of restarts that are left. On several hosts, the
// number of spares is the requested number, until no restart is left.
func TestTarget(t *testing.T) {
	for _, tc := range []struct{ restarts, count, spares, here, hosts int }{{5, 0, 2, 2, 2}, {5, 4, 2, 1, 2}, {5, 5, 2, 0, 0}, {1, 0, 3, 1, 3}} {
		j := &job{opts: &options{restarts: tc.restarts, spares: tc.spares}, restarts: restarts{count: tc.count}}
		require.Equal(t, tc.here, j.target(), "%+v", tc)
		j.hosts = []*host{{}}
		require.Equal(t, tc.hosts, j.target(), "%+v", tc)
	}
}
