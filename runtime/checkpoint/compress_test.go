package checkpoint_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime"
	"github.com/gorun-hpc/gorun/runtime/checkpoint"
)

// kinds has functions that make the data of a rank at a step. In the kind "field", values change
// slowly from cell to cell, as in a simulated field.
var kinds = map[string]func(s []float64, seed uint64){
	"zeros": func([]float64, uint64) {},
	"field": func(s []float64, seed uint64) {
		for i := range s {
			s[i] = math.Round(float64(i)/1000) + float64(seed)
		}
	},
	"random": func(s []float64, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 1))
		for i := range s {
			s[i] = math.Float64frombits(r.Uint64())
		}
	},
}

// stuff returns a rank's state at a step. The image of the state has a complete and an incomplete
// block, and the state contains a NaN.
func stuff(kind string, rank, step int) []float64 {
	s := make([]float64, 40_000+1000*rank)
	kinds[kind](s, uint64(1000*rank+step))
	s[7] = math.NaN()
	return s
}

// same compares floats bit by bit.
func same(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(x, y float64) bool { return math.Float64bits(x) == math.Float64bits(y) })
}

// keep saves steps with data of one kind.
func (r ranks) keep(t *testing.T, kind string, steps ...int) {
	t.Helper()
	r.run(t, func(c *runtime.Comm, s *checkpoint.Store) error {
		for _, step := range steps {
			if err := s.Save(c, step, checkpoint.Slice([]int32{int32(step)}), checkpoint.Slice(stuff(kind, c.Rank(), step))); err != nil {
				return err
			}
		}
		return nil
	})
}

// brings restores a step of a kind of data and checks every bit.
func (r ranks) brings(t *testing.T, kind string, want int) {
	t.Helper()
	r.run(t, func(c *runtime.Comm, s *checkpoint.Store) error {
		number, got := make([]int32, 1), make([]float64, len(stuff(kind, c.Rank(), want)))
		step, found, err := s.Restore(c, checkpoint.Slice(number), checkpoint.Slice(got))
		if err == nil && (!found || step != want || int(number[0]) != want || !same(got, stuff(kind, c.Rank(), want))) {
			err = fmt.Errorf("rank %d has step %d, %v, %v", c.Rank(), step, found, number)
		}
		return err
	})
}

// TestCompression checks that survivors, ranks with new stores and a whole new job get every bit
// back, for all data, transports and modes. With CompressAlways, data that get shorter must be
// compressed between nodes and in files. Random data, and all data with CompressNever, must not be
// compressed. Within a node no copy counts as sent.
func TestCompression(t *testing.T) {
	for _, transport := range transports {
		t.Setenv("GORUN_TRANSPORT", transport)
		for name, mode := range map[string]checkpoint.Compression{
			"auto": checkpoint.CompressAuto, "never": checkpoint.CompressNever, "always": checkpoint.CompressAlways,
		} {
			for kind := range kinds {
				t.Run(transport+"/"+name+"/"+kind, func(t *testing.T) {
					config := checkpoint.Config{Directory: t.TempDir(), Compression: mode}
					r := newRanksOf(t, 3, config)
					r.keep(t, kind, 2, 3)
					length := int64(len(stuff(kind, 1, 3)) * 8)
					v := r[1].Volume()
					require.Equal(t, transport == "rdma", v.Sent >= 2*length)
					require.Equal(t, transport == "rdma", v.Sent > 0)
					require.GreaterOrEqual(t, v.Filed, 2*length)
					short := mode == checkpoint.CompressAlways && kind != "random"
					if short {
						require.LessOrEqual(t, v.SentAs, v.Sent/4)
						require.Less(t, v.FiledAs, v.Filed/4)
					}
					if mode == checkpoint.CompressNever || kind == "random" {
						require.Equal(t, v.Sent, v.SentAs)
						require.Equal(t, v.Filed, v.FiledAs)
					}
					r.brings(t, kind, 3)
					for _, lost := range []int{0, 2} {
						r.loseOf(t, lost, checkpoint.Config{Compression: mode})
						r.brings(t, kind, 3)
					}
					newRanksOf(t, 3, config).brings(t, kind, 3)
				})
			}
		}
	}
}

// TestFilesGetShort checks that the kind "field" is compressed in files on any disk, because it
// gets short enough.
func TestFilesGetShort(t *testing.T) {
	r := newRanks(t, 1, t.TempDir())
	r.keep(t, "field", 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)
	v := r[0].Volume()
	require.Less(t, v.FiledAs, v.Filed/2)
	require.Equal(t, []string{fmt.Sprintf("checkpoint: copies of %.1f MiB written to files as %.1f MiB", float64(v.Filed)/(1<<20), float64(v.FiledAs)/(1<<20))}, r[0].Explain())
}

// TestCompressedIsLost checks that the loss of both holders of a compressed copy is reported, as
// for copies without compression.
func TestCompressedIsLost(t *testing.T) {
	for _, transport := range transports {
		t.Setenv("GORUN_TRANSPORT", transport)
		config := checkpoint.Config{Compression: checkpoint.CompressAlways}
		r := newRanksOf(t, 4, config)
		r.keep(t, "zeros", 3)
		r.loseOf(t, 1, config)
		r.loseOf(t, 2, config) // rank 2 keeps the copy of rank 1
		r.run(t, func(c *runtime.Comm, s *checkpoint.Store) error {
			_, found, err := s.Restore(c)
			lost, ok := errors.AsType[*checkpoint.LostError](err)
			if found || !ok || lost.Step != 3 || !slices.Equal(lost.Ranks, []int{1}) {
				return fmt.Errorf("%v: %w", found, err)
			}
			return nil
		})
	}
}

// TestCompressedOfAnotherShape checks that parts of other lengths are refused, also by a rank with
// a new store that gets the compressed copy.
func TestCompressedOfAnotherShape(t *testing.T) {
	for _, transport := range transports {
		t.Setenv("GORUN_TRANSPORT", transport)
		config := checkpoint.Config{Compression: checkpoint.CompressAlways}
		r := newRanksOf(t, 2, config)
		r.keep(t, "zeros", 3)
		r.loseOf(t, 1, config)
		r.run(t, func(c *runtime.Comm, s *checkpoint.Store) error {
			number, got := make([]int32, 1), make([]float64, len(stuff("zeros", c.Rank(), 3)))
			if c.Rank() == 1 {
				got = got[1:]
			}
			_, _, err := s.Restore(c, checkpoint.Slice(number), checkpoint.Slice(got))
			if err == nil || c.Rank() == 1 && !errors.Is(err, checkpoint.ErrShape) {
				return fmt.Errorf("rank %d: %w", c.Rank(), err)
			}
			return nil
		})
	}
}

// TestNothingIsSentCompressed checks that with GORUN_COMPRESS=0 copies are sent without
// compression, although files are compressed. Then the number of bytes on the network does not
// depend on the data.
func TestNothingIsSentCompressed(t *testing.T) {
	t.Setenv("GORUN_COMPRESS", "0")
	for _, transport := range transports {
		t.Setenv("GORUN_TRANSPORT", transport)
		r := newRanksOf(t, 2, checkpoint.Config{Directory: t.TempDir(), Compression: checkpoint.CompressAlways})
		r.keep(t, "zeros", 1, 2)
		v := r[0].Volume()
		require.Equal(t, v.Sent, v.SentAs)
		require.Less(t, v.FiledAs, v.Filed/4)
		r.brings(t, "zeros", 2)
	}
}

func TestCompressionThatThereIsNot(t *testing.T) {
	for _, c := range []checkpoint.Compression{-1, checkpoint.CompressAlways + 1} {
		_, err := checkpoint.New(checkpoint.Config{Compression: c})
		require.ErrorContains(t, err, fmt.Sprintf("no compression %d", c))
	}
}
