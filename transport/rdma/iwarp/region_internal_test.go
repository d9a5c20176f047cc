package iwarp

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// drawing returns a table whose next random STags are the given STags.
func drawing(stags ...uint32) *regions {
	t := &regions{}
	for _, stag := range stags {
		t.random = binary.NativeEndian.AppendUint32(t.random, stag)
	}
	return t
}

func TestRegionsDoNotDrawAgainWhatIsInUse(t *testing.T) {
	table := drawing(0, 7, 7, 0, 7, 9, 7)
	add := func() *region {
		m, err := table.add(nil, make([]byte, 1), provider.AccessRemoteRead)
		require.NoError(t, err)
		return m
	}
	seven, nine := add(), add()
	require.Equal(t, []uint32{7, 9}, []uint32{seven.stag, nine.stag})
	require.Same(t, seven, table.find(7))
	table.remove(seven)
	again := add()
	require.Equal(t, uint32(7), again.stag, "free again")
	require.Same(t, again, table.find(7))
}

// TestRegionsForgetWhatIsRemoved checks that a removed region is not found any more. In the first case the
// region is in the cache of recent lookups. In the second case another region has the place in the cache that
// the removed region would have. In the third case this place is empty.
func TestRegionsForgetWhatIsRemoved(t *testing.T) {
	for name, looked := range map[string]uint32{"looked up": 5, "its neighbor looked up": 5 + recentMax, "neither": 0} {
		table := drawing(5, 5+recentMax)
		add := func() *region {
			m, err := table.add(nil, make([]byte, 1), provider.AccessRemoteRead)
			require.NoError(t, err, name)
			return m
		}
		gone, stays := add(), add()
		table.find(looked)
		table.remove(gone)
		for range 2 {
			require.Nil(t, table.find(5), name)
			require.Same(t, stays, table.find(5+recentMax), name)
		}
		require.True(t, gone.revoked, name)
	}
}

func TestFindingRegionsAllocatesNothing(t *testing.T) {
	table := drawing(5, 5+recentMax)
	for range 2 {
		_, err := table.add(nil, make([]byte, 1), provider.AccessRemoteRead)
		require.NoError(t, err)
	}
	require.Zero(t, testing.AllocsPerRun(100, func() {
		table.find(5)
		table.find(5 + recentMax)
		table.find(6)
	}))
}
