package placement_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/cmd/gorun/internal/placement"
)

// ParsePolicy parses the values of -map-by.
func TestPolicies(t *testing.T) {
	for text, want := range map[string]placement.Policy{
		"slot": {}, "node": {ByNode: true}, "ppr:3": {PerHost: 3}, "ppr:2:node": {PerHost: 2},
	} {
		got, err := placement.ParsePolicy(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for text, want := range map[string]string{
		"": "want slot, node or ppr:N", "core": "want slot, node or ppr:N", "ppr": "want slot", "ppr:": "after ppr: want a number",
		"ppr:0": "want a number", "ppr:-1": "want a number", "ppr:70000": "from 1 to 65536", "ppr:2:socket": "want a number",
	} {
		_, err := placement.ParsePolicy(text)
		require.ErrorContains(t, err, want, text)
	}
}

// Deal assigns ranks to hosts according to the policy. When all slots are used, it begins again with the
// first host. If the policy limits the ranks per host, it returns an error instead.
func TestDeal(t *testing.T) {
	slots, node := placement.Policy{}, placement.Policy{ByNode: true}
	for _, c := range []struct {
		policy placement.Policy
		slots  []int
		n      int
		want   []int
	}{
		{slots, []int{2, 1, 3}, 6, []int{0, 0, 1, 2, 2, 2}},
		{slots, []int{2, 1, 3}, 3, []int{0, 0, 1}},
		{slots, []int{2, 1}, 5, []int{0, 0, 1, 0, 0}},
		{node, []int{2, 1, 3}, 6, []int{0, 1, 2, 0, 2, 2}},
		{node, []int{2, 1, 3}, 2, []int{0, 1}},
		{node, []int{2, 1}, 5, []int{0, 1, 0, 0, 1}},
		{placement.Policy{PerHost: 2}, []int{1, 9}, 4, []int{0, 0, 1, 1}},
		{placement.Policy{PerHost: 2}, []int{1, 9}, 3, []int{0, 0, 1}},
		{placement.Policy{PerHost: 2, ByNode: true}, []int{1, 9}, 4, []int{0, 1, 0, 1}},
	} {
		got, err := c.policy.Deal(c.slots, c.n)
		require.NoError(t, err)
		require.Equal(t, c.want, got, "%+v", c)
	}
	_, err := placement.Policy{PerHost: 2}.Deal([]int{1, 9}, 5)
	require.EqualError(t, err, "5 ranks, and 2 hosts with 2 ranks each take 4: name more hosts, allow more ranks per host, or start fewer")
}

// FuzzDeal checks that, before all hosts are full, no host gets more ranks than its slots or the policy's
// limit allow.
func FuzzDeal(f *testing.F) {
	f.Add([]byte{1, 3, 2}, uint8(6), false, uint8(0))
	f.Add([]byte{1, 3, 2}, uint8(20), true, uint8(0))
	f.Add([]byte{4}, uint8(7), true, uint8(7))
	f.Fuzz(func(t *testing.T, raw []byte, n uint8, byNode bool, perHost uint8) {
		slots := make([]int, 0, len(raw)+1)
		for _, b := range append(raw, 1) {
			slots = append(slots, 1+int(b%8))
		}
		p := placement.Policy{ByNode: byNode, PerHost: int(perHost)}
		to, err := p.Deal(slots, int(n))
		if err != nil {
			require.Greater(t, int(n), p.Room(slots))
			return
		}
		require.Len(t, to, int(n))
		got := make([]int, len(slots))
		for i, h := range to {
			got[h]++
			if i < p.Room(slots) {
				most := slots[h]
				if perHost > 0 {
					most = int(perHost)
				}
				require.LessOrEqual(t, got[h], most)
			}
		}
	})
}
