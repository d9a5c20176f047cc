package checkpoint_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/runtime"
	"github.com/gorun-hpc/gorun/runtime/checkpoint"
)

// ranks has the stores of the ranks of a job. The stores live longer than the Worlds.
type ranks []*checkpoint.Store

func newRanks(t *testing.T, n int, directory string) ranks {
	t.Helper()
	return newRanksOf(t, n, checkpoint.Config{Directory: directory})
}

// newRanksOf works as newRanks, with a configuration.
func newRanksOf(t *testing.T, n int, config checkpoint.Config) ranks {
	t.Helper()
	stores := make(ranks, n)
	for rank := range n {
		stores.loseOf(t, rank, config)
	}
	return stores
}

// lose gives a rank a new store, as a new process would have.
func (r ranks) lose(t *testing.T, rank int, directory string) {
	t.Helper()
	r.loseOf(t, rank, checkpoint.Config{Directory: directory})
}

// loseOf works as lose, with a configuration.
func (r ranks) loseOf(t *testing.T, rank int, config checkpoint.Config) {
	t.Helper()
	var err error
	r[rank], err = checkpoint.New(config)
	require.NoError(t, err)
}

// run runs fn with each store in a new World.
func (r ranks) run(t *testing.T, fn func(c *runtime.Comm, s *checkpoint.Store) error) {
	t.Helper()
	require.NoError(t, runtime.Local(len(r), func(w *runtime.World) error { return fn(w.Comm(), r[w.Rank()]) }))
}

// state returns the state of a rank at a step. Its length depends on the rank.
func state(rank, step int) []float64 {
	s := make([]float64, 1000*rank+10)
	for i := range s {
		s[i] = float64(rank*1e6+step*1e3) + float64(i)
	}
	return s
}

// saves saves some steps.
func (r ranks) saves(t *testing.T, steps ...int) {
	t.Helper()
	r.run(t, func(c *runtime.Comm, s *checkpoint.Store) error {
		for _, step := range steps {
			if err := s.Save(c, step, checkpoint.Slice(state(c.Rank(), step)), checkpoint.Slice([]int32{int32(step)})); err != nil {
				return err
			}
		}
		return nil
	})
}

// restores restores a step and checks the parts. If want is negative, it requires that no step is
// restored.
func (r ranks) restores(t *testing.T, want int) {
	t.Helper()
	r.run(t, func(c *runtime.Comm, s *checkpoint.Store) error {
		parts, number := make([]float64, len(state(c.Rank(), 0))), []int32{-1}
		step, found, err := s.Restore(c, checkpoint.Slice(parts), checkpoint.Slice(number))
		switch {
		case err != nil:
			return err
		case !found && want < 0 && step == 0 && number[0] == -1:
			return nil
		case !found || step != want || number[0] != int32(want) || fmt.Sprint(parts) != fmt.Sprint(state(c.Rank(), want)):
			return fmt.Errorf("rank %d: step %d, %v, %v", c.Rank(), step, found, number)
		}
		return nil
	})
}

func TestRestore(t *testing.T) {
	for _, n := range []int{1, 2, 3, 5} {
		r := newRanks(t, n, "")
		r.restores(t, -1)
		r.saves(t, 0)
		r.restores(t, 0)
		r.saves(t, 7, 9, 12)
		r.restores(t, 12)
		for lost := range n {
			if n == 1 {
				break
			}
			// The ranks are lost one after the other. Each Restore gives a new process the copy
			// that it has to keep.
			r.lose(t, lost, "")
			r.restores(t, 12)
		}
		r.saves(t, 20)
		r.restores(t, 20)
	}
}

// TestLost loses a rank and its keeper. All ranks must get the same error, which names the rank.
func TestLost(t *testing.T) {
	r := newRanks(t, 4, "")
	r.saves(t, 3)
	r.lose(t, 1, "")
	r.lose(t, 2, "") // on one node, the next rank is the keeper
	r.run(t, func(c *runtime.Comm, s *checkpoint.Store) error {
		_, found, err := s.Restore(c)
		require.False(t, found)
		require.ErrorIs(t, err, checkpoint.ErrLost)
		var lost *checkpoint.LostError
		require.ErrorAs(t, err, &lost)
		require.Equal(t, checkpoint.LostError{Step: 3, Ranks: []int{1}}, *lost)
		require.ErrorContains(t, err, "step 3 has no copy of rank 1: ")
		return nil
	})
}

// TestDirectory restarts a whole job from its files. Files that are not complete must be ignored.
func TestDirectory(t *testing.T) {
	dir := t.TempDir()
	newRanks(t, 3, dir).saves(t, 5, 6, 8)
	newRanks(t, 3, dir).restores(t, 8)
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	require.Len(t, files, 6, "two of each rank, and none that is temporary")

	name := filepath.Join(dir, "rank-1.0.checkpoint") // the file of the third Save
	b, err := os.ReadFile(name)
	require.NoError(t, err)
	for _, damaged := range [][]byte{b[:len(b)-1], b[:7], nil, append([]byte{b[0] ^ 1}, b[1:]...), append(append([]byte{}, b[:len(b)-1]...), b[len(b)-1]^1)} {
		require.NoError(t, os.WriteFile(name, damaged, 0o600))
		newRanks(t, 3, dir).restores(t, 6)
	}
	r := newRanks(t, 3, dir)
	r.restores(t, 6)
	r.saves(t, 8)
	newRanks(t, 3, dir).restores(t, 8)

	_, err = checkpoint.New(checkpoint.Config{Directory: name})
	require.ErrorContains(t, err, "is not a directory")
	newRanks(t, 2, dir).run(t, func(c *runtime.Comm, s *checkpoint.Store) error {
		_, _, err := s.Restore(c)
		require.ErrorIs(t, err, checkpoint.ErrShape, "two ranks and the files of three")
		require.ErrorContains(t, err, fmt.Sprintf("rank-%d.0.checkpoint: ", c.Rank()))
		require.ErrorContains(t, err, "with as many ranks as before")
		return nil
	})
}

// TestFailedSaveIsNotCommitted checks two Saves that fail at one rank, because its directory is gone, and a restart. The
// files of the other ranks must not count as a checkpoint.
func TestFailedSaveIsNotCommitted(t *testing.T) {
	dirs := []string{t.TempDir(), filepath.Join(t.TempDir(), "gone"), t.TempDir()}
	start := func() ranks {
		r := make(ranks, len(dirs))
		for rank, dir := range dirs {
			require.NoError(t, os.MkdirAll(dir, 0o700))
			r.lose(t, rank, dir)
		}
		return r
	}
	r := start()
	require.NoError(t, os.Remove(dirs[1]))
	for step := range 2 {
		r.run(t, func(c *runtime.Comm, s *checkpoint.Store) error {
			require.Error(t, s.Save(c, step, checkpoint.Slice(state(c.Rank(), step))))
			return nil
		})
	}
	start().run(t, func(c *runtime.Comm, s *checkpoint.Store) error {
		_, found, err := s.Restore(c, checkpoint.Slice(state(c.Rank(), 0)))
		require.False(t, found)
		return err
	})
	r = start()
	r.saves(t, 5)
	start().restores(t, 5)
}

// TestFilesOfADiscardedStep checks the files of a Save of step 30 that failed, after which step 20 was restored. The
// next Save must remove the file of a rank before any other rank stores its copy. Otherwise, if the rank were lost in a
// second Save of step 30, Restore would combine its file of the first Save with the other ranks' copies of the second.
func TestFilesOfADiscardedStep(t *testing.T) {
	dirs := []string{filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "b"), filepath.Join(t.TempDir(), "c")}
	r := make(ranks, len(dirs))
	for rank, dir := range dirs {
		require.NoError(t, os.Mkdir(dir, 0o700))
		r.lose(t, rank, dir)
	}
	r.saves(t, 10, 20)
	require.NoError(t, os.Rename(dirs[1], dirs[1]+".away"))
	save := func(c *runtime.Comm, s *checkpoint.Store) error {
		require.Error(t, s.Save(c, 30, checkpoint.Slice(state(c.Rank(), 30)), checkpoint.Slice([]int32{30})))
		return nil
	}
	r.run(t, save)
	require.NoError(t, os.Rename(dirs[1]+".away", dirs[1]))
	r.lose(t, 1, dirs[1])
	r.lose(t, 2, dirs[2]) // it had the only copy of step 30 of rank 1
	r.restores(t, 20)

	stale := []string{filepath.Join(dirs[0], "rank-0.0.checkpoint"), filepath.Join(dirs[2], "rank-2.0.checkpoint")}
	for _, name := range stale {
		require.FileExists(t, name)
	}
	r.run(t, func(c *runtime.Comm, s *checkpoint.Store) error {
		if c.Rank() != 1 {
			return save(c, s)
		}
		own, err := c.Dup()
		require.NoError(t, err)
		require.NoError(t, collectives.AllReduce(own, []int{30, -30, 0}, make([]int, 3), collectives.Max))
		for _, name := range stale {
			require.NoFileExists(t, name)
		}
		own.Break(errors.New("lost"))
		return own.Close()
	})
	r.lose(t, 0, dirs[0])
	r.restores(t, 20)
}

// TestSaveEndsWithItsContext checks that the end of the context.Context of the view ends a Save and a Restore that wait
// for another rank. That rank takes part in the first collective operations only.
func TestSaveEndsWithItsContext(t *testing.T) {
	for name, call := range map[string]func(c *runtime.Comm, s *checkpoint.Store) error{
		"Save":    func(c *runtime.Comm, s *checkpoint.Store) error { return s.Save(c, 0, checkpoint.Slice([]int{1})) },
		"Restore": func(c *runtime.Comm, s *checkpoint.Store) error { _, _, err := s.Restore(c); return err },
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			newRanks(t, 2, "").run(t, func(c *runtime.Comm, s *checkpoint.Store) error {
				if c.Rank() == 0 {
					require.ErrorIs(t, call(c.WithContext(ctx), s), context.Canceled)
					return nil
				}
				own, err := c.Dup()
				require.NoError(t, err)
				require.NoError(t, collectives.AllReduce(own, []int{0, 0, 0}, make([]int, 3), collectives.Max))
				cancel()
				return own.Close()
			})
		})
	}
}

// TestLoopOfThePackage runs the loop of the package comment, whose job ends in the middle and is started again.
func TestLoopOfThePackage(t *testing.T) {
	const steps = 300
	dir := t.TempDir()
	loop := func(last int) {
		newRanks(t, 2, dir).run(t, func(c *runtime.Comm, store *checkpoint.Store) error {
			sum := make([]int, 1)
			step, found, err := store.Restore(c, checkpoint.Slice(sum))
			if err != nil {
				return err
			}
			require.Equal(t, step > 0, found)
			for restored := step; step < steps; step++ {
				if step%100 == 0 && step > restored {
					if err := store.Save(c, step, checkpoint.Slice(sum)); err != nil {
						return err
					}
				}
				if step == last {
					return nil
				}
				sum[0] += step
			}
			require.Equal(t, steps*(steps-1)/2, sum[0])
			return nil
		})
	}
	loop(150)
	loop(steps)
}

// TestDirectoryAfterKill checks files that a killed process was writing. No later Save renames such
// a file. Restore must remove these files of all ranks, and no other file.
func TestDirectoryAfterKill(t *testing.T) {
	dir := t.TempDir()
	r := newRanks(t, 2, dir)
	r.saves(t, 5)
	for _, name := range []string{"rank-1.0.checkpoint.1234.part", "rank-7.1.checkpoint.5.part", "rank-1.0.checkpoint.bak", "else.part"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("half of it"), 0o600))
	}
	r.lose(t, 1, dir)
	r.restores(t, 5)
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	for i := range files {
		files[i] = filepath.Base(files[i])
	}
	require.Equal(t, []string{"else.part", "rank-0.0.checkpoint", "rank-1.0.checkpoint", "rank-1.0.checkpoint.bak"}, files)
}

// TestArguments checks that bad arguments of one rank are an error at all ranks and change
// nothing.
func TestArguments(t *testing.T) {
	r := newRanks(t, 3, "")
	r.saves(t, 4)
	r.run(t, func(c *runtime.Comm, s *checkpoint.Store) error {
		part := checkpoint.Slice(state(c.Rank(), 5))
		require.ErrorIs(t, s.Save(c, 4, part), checkpoint.ErrStep)
		require.ErrorIs(t, s.Save(c, -1, part), checkpoint.ErrStep)
		require.ErrorIs(t, s.Save(c, 5+c.Rank(), part), checkpoint.ErrStep)
		err := s.Save(c, 5, checkpoint.Slice([]string{"x"}))
		require.ErrorIs(t, err, runtime.ErrElementType)
		if c.Rank() == 1 {
			part = checkpoint.Slice([]*int{nil})
		}
		require.Error(t, s.Save(c, 5, part))
		_, _, err = s.Restore(c, part)
		require.Error(t, err)
		_, _, err = s.Restore(c, checkpoint.Slice(make([]float64, 1)), checkpoint.Slice([]int32{0}))
		require.ErrorIs(t, err, checkpoint.ErrShape)
		return nil
	})
	r.restores(t, 4)
}

// Save and Restore work on a duplicate of the World's communicator after the World's communicator was broken.
func TestSaveBesideABrokenWorld(t *testing.T) {
	newRanks(t, 2, "").run(t, func(c *runtime.Comm, s *checkpoint.Store) error {
		dup, err := c.Dup()
		require.NoError(t, err)
		c.Break(errors.New("wrong"))
		require.NoError(t, s.Save(dup, 1, checkpoint.Slice([]int{c.Rank()})))
		got := []int{-1}
		step, found, err := s.Restore(dup, checkpoint.Slice(got))
		require.NoError(t, err)
		require.True(t, found)
		require.Equal(t, []int{1, c.Rank()}, []int{step, got[0]})
		return nil
	})
}
