package runtime_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime"
)

// An empty message to oneself is received with both wildcards (MPICH's pt2pt/isendself.c).
func TestEmptyMessageToOneself(t *testing.T) {
	local(t, 1, func(c *runtime.Comm) {
		send := runtime.Isend[int](c, nil, 0, 5)
		s, err := runtime.Recv[int](c, nil, runtime.AnySource, runtime.AnyTag)
		require.NoError(t, err)
		require.Equal(t, 0, s.Source)
		require.Equal(t, 5, s.Tag)
		require.Zero(t, s.Count())
		require.NoError(t, runtime.WaitAll([]runtime.Request{send}))
	})
}

// Messages to oneself in all send modes arrive if the receive is posted first (MPICH's
// pt2pt/sendself.c).
func TestSendToOneself(t *testing.T) {
	local(t, 1, func(c *runtime.Comm) {
		for _, n := range sizes {
			for name, send := range map[string]func(b []byte) error{
				"Send":   func(b []byte) error { return runtime.Send(c, b, 0, 1) },
				"Ssend":  func(b []byte) error { return runtime.Ssend(c, b, 0, 1) },
				"Isend":  func(b []byte) error { return runtime.WaitAll([]runtime.Request{runtime.Isend(c, b, 0, 1)}) },
				"Issend": func(b []byte) error { return runtime.WaitAll([]runtime.Request{runtime.Issend(c, b, 0, 1)}) },
			} {
				got := make([]byte, n)
				r := runtime.Irecv(c, got, 0, 1)
				require.NoError(t, send(pattern(make([]byte, n), 1)), name)
				s, err := r.Wait()
				require.NoError(t, err, name)
				require.Equal(t, n, s.Count(), name)
				require.Equal(t, pattern(make([]byte, n), 1), got, name)
			}
		}
	})
}

// A message to oneself arrives if Isend is called before the receive.
func TestIsendToOneselfBeforeTheReceive(t *testing.T) {
	local(t, 1, func(c *runtime.Comm) {
		for _, n := range sizes {
			r := runtime.Isend(c, pattern(make([]byte, n), 2), 0, 1)
			got := make([]byte, n)
			_, err := runtime.Recv(c, got, 0, 1)
			require.NoError(t, err)
			require.Equal(t, pattern(make([]byte, n), 2), got)
			require.NoError(t, runtime.WaitAll([]runtime.Request{r}))
		}
	})
}
