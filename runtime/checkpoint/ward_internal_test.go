package checkpoint

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime"
)

// TestSaveAfterOtherKeepers checks ranks that have another keeper after a restart, because ranks were started again on
// other nodes. The first Save after the Restore is not completed, and rank 0 is lost in it. The keeper of rank 0 must
// still have the copy of rank 0 of the restored step, and not only the copy of the rank whose keeper it was before.
func TestSaveAfterOtherKeepers(t *testing.T) {
	gone := filepath.Join(t.TempDir(), "gone")
	require.NoError(t, os.Mkdir(gone, 0o700))
	stores := make([]*Store, 3)
	lose := func(rank int, directory string) {
		var err error
		stores[rank], err = New(Config{Directory: directory})
		require.NoError(t, err)
	}
	run := func(fn func(c *runtime.Comm, s *Store) error) {
		require.NoError(t, runtime.Local(len(stores), func(w *runtime.World) error { return fn(w.Comm(), stores[w.Rank()]) }))
	}
	restore := func(c *runtime.Comm, s *Store) error {
		state := []int{0}
		step, found, err := s.Restore(c, Slice(state))
		require.NoError(t, err)
		require.True(t, found)
		require.Equal(t, 20, step)
		require.Equal(t, 20+c.Rank(), state[0])
		return nil
	}
	for rank, directory := range []string{"", gone, ""} {
		lose(rank, directory)
	}
	run(func(c *runtime.Comm, s *Store) error {
		require.NoError(t, s.Save(c, 10, Slice([]int{10 + c.Rank()})))
		return s.Save(c, 20, Slice([]int{20 + c.Rank()}))
	})
	// Rank 0 has kept the copies of rank 1, and rank 1 the copies of rank 2. Rank 2, which has kept the copies of rank 0,
	// is lost.
	stores[0].kept, stores[1].kept = stores[2].kept, stores[0].kept
	lose(2, "")
	run(restore)

	require.NoError(t, os.RemoveAll(gone))
	run(func(c *runtime.Comm, s *Store) error {
		require.Error(t, s.Save(c, 30, Slice([]int{30})))
		return nil
	})
	for _, s := range stores { // rank 0 was lost before the copies of step 30 were complete
		for i := range generations {
			for _, d := range []*copied{&s.own[i], &s.kept[i]} {
				if d.step == 30 {
					d.step = none
				}
			}
		}
	}
	lose(0, "")
	run(restore)
}
