package runtime_test

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime"
)

// Strided sends and receives move a column of a matrix, a block of a matrix, and a message without
// elements (MPICH's datatype/transpose_pack.c, datatype/subarray.c and datatype/zeroparms.c).
func TestStrided(t *testing.T) {
	const rows, cols = 7, 5
	local(t, 1, func(c *runtime.Comm) {
		m := make([]int, rows*cols)
		for i := range m {
			m[i] = i
		}
		column := runtime.Strided{Count: rows, Block: 1, Stride: cols}
		require.Equal(t, rows, column.Len())
		transposed := make([]int, rows*cols)
		for j := range cols {
			r := runtime.IsendStrided(c, m[j:], column, 0, j)
			_, err := runtime.Recv(c, transposed[j*rows:(j+1)*rows], 0, j)
			require.NoError(t, err)
			require.NoError(t, runtime.WaitAll([]runtime.Request{r}))
		}
		for i := range m {
			require.Equal(t, m[i], transposed[i%cols*rows+i/cols])
		}
		// A block in the middle is received into the corner of another matrix, by a receive that
		// was posted first.
		block := runtime.Strided{Count: 3, Block: 2, Stride: cols}
		to := make([]int, 4*cols)
		r := runtime.IrecvStrided(c, to, block, 0, 9)
		require.NoError(t, runtime.SendStrided(c, m[cols+1:], block, 0, 9))
		s, err := r.Wait()
		require.NoError(t, err)
		require.Equal(t, 6, s.Count())
		require.Equal(t, []int{6, 7, 0, 0, 0, 11, 12, 0, 0, 0, 16, 17, 0, 0, 0, 0, 0, 0, 0, 0}, to)
		// The message has fewer elements than the layout of the receive.
		require.NoError(t, runtime.Send(c, []int{-1, -2, -3}, 0, 9))
		s, err = runtime.RecvStrided(c, to, block, 0, 9)
		require.NoError(t, err)
		require.Equal(t, 3, s.Count())
		require.Equal(t, []int{-1, -2, 0, 0, 0, -3, 12}, to[:7])
		none := runtime.Strided{}
		require.NoError(t, runtime.SendStrided[int](c, nil, none, 0, 9))
		_, err = runtime.RecvStrided[int](c, nil, none, 0, 9)
		require.NoError(t, err)
		// Empty blocks need no element, however far they lie apart.
		empty := runtime.Strided{Count: 3, Stride: 1 << 40}
		require.NoError(t, runtime.SendStrided(c, m, empty, 0, 9))
		s, err = runtime.IrecvStrided(c, m, empty, 0, 9).Wait()
		require.NoError(t, err)
		require.Zero(t, s.Bytes)
	})
}

// A strided receive that ends without a message leaves its elements unchanged, and its Status is empty.
func TestStridedReceiveWithoutAMessage(t *testing.T) {
	receives := map[string]func(c *runtime.Comm, buf []int, s runtime.Strided) (runtime.Status, error){
		"RecvStrided": func(c *runtime.Comm, buf []int, s runtime.Strided) (runtime.Status, error) {
			return runtime.RecvStrided(c, buf, s, 0, 2)
		},
		"IrecvStrided": func(c *runtime.Comm, buf []int, s runtime.Strided) (runtime.Status, error) {
			return runtime.IrecvStrided(c, buf, s, 0, 2).Wait()
		},
	}
	for name, receive := range receives {
		local(t, 1, func(c *runtime.Comm) {
			// The record of this receive is used again.
			require.NoError(t, runtime.Send(c, []int{1, 2, 3}, 0, 1))
			_, err := runtime.Recv(c, make([]int, 3), 0, 1)
			require.NoError(t, err)
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			buf := []int{10, 11, 12, 13, 14, 15}
			s, err := receive(c.WithContext(ctx), buf, runtime.Strided{Count: 3, Block: 1, Stride: 2})
			require.ErrorIs(t, err, context.Canceled, name)
			require.Zero(t, s.Count(), name)
			require.Equal(t, []int{10, 11, 12, 13, 14, 15}, buf, name)
		})
	}
}

// Negative counts, overlapping blocks, and a description that reaches beyond the slice are refused, even if the
// number of its elements overflows.
func TestStridedRefusesWhatDoesNotFit(t *testing.T) {
	local(t, 1, func(c *runtime.Comm) {
		buf := make([]int, 4)
		for _, s := range []runtime.Strided{
			{Count: -1, Block: 1, Stride: 1},
			{Count: 1, Block: -1, Stride: 1},
			{Count: 2, Block: 2, Stride: 1},
			{Count: 2, Block: 1, Stride: 4},
			{Count: 1, Block: 5, Stride: 5},
			{Count: 1 << 32, Block: 1 << 32, Stride: 1 << 32},
			{Count: 1 << 62, Block: 4, Stride: 4},
			{Count: math.MaxInt, Block: 2, Stride: 2},
			{Count: 1, Block: math.MaxInt, Stride: math.MaxInt},
		} {
			require.ErrorIs(t, runtime.SendStrided(c, buf, s, 0, 0), runtime.ErrArgument, "%+v", s)
			_, err := runtime.RecvStrided(c, buf, s, 0, 0)
			require.ErrorIs(t, err, runtime.ErrArgument, "%+v", s)
			_, err = runtime.IsendStrided(c, buf, s, 0, 0).Wait()
			require.ErrorIs(t, err, runtime.ErrArgument, "%+v", s)
			_, err = runtime.IrecvStrided(c, buf, s, 0, 0).Wait()
			require.ErrorIs(t, err, runtime.ErrArgument, "%+v", s)
		}
	})
}

// With GORUN_CHECK, a strided send that a library has started keeps its memory until the library takes the
// result. A later strided receive gets other memory, so the check finds no overlap.
func TestStridedRequestsOfALibraryDoNotOverlap(t *testing.T) {
	t.Setenv("GORUN_CHECK", "1")
	local(t, 2, func(c *runtime.Comm) {
		c = c.Private()
		column := runtime.Strided{Count: 3, Block: 1, Stride: 2}
		var all []runtime.Request
		for tag := range 6 {
			all = append(all, runtime.IsendStrided(c, make([]int, 6), column, 1-c.Rank(), tag),
				runtime.IrecvStrided(c, make([]int, 6), column, 1-c.Rank(), tag))
		}
		require.NoError(t, runtime.WaitAll(all))
	})
}
