package runtime_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime"
)

// Break without a cause breaks the communicator at all members, like Revoke without a cause. A nil *Comm is not
// broken, and Break and Revoke of it do nothing.
func TestBreakWithoutCause(t *testing.T) {
	local(t, 2, func(c *runtime.Comm) {
		for _, end := range []func(*runtime.Comm, error){(*runtime.Comm).Break, (*runtime.Comm).Revoke} {
			var none *runtime.Comm
			end(none, nil)
			require.False(t, none.Broken())
			require.False(t, none.IsRevoked())

			made, err := c.Dup()
			require.NoError(t, err)
			if c.Rank() == 0 {
				end(made, nil)
				require.ErrorIs(t, made.Err(), runtime.ErrRevoked)
			}
			_, err = runtime.Recv(made, []int{0}, 1-c.Rank(), 0)
			require.ErrorIs(t, err, runtime.ErrCommBroken)
			require.ErrorContains(t, err, runtime.ErrRevoked.Error())
			require.True(t, made.Broken())
		}
	})
}
