package runtime_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime"
)

// Blocking and nonblocking receives get the message that Mprobe or Improbe returned. A second
// receive fails (MPICH's pt2pt/mprobe.c).
func TestMatchedProbes(t *testing.T) {
	local(t, 2, func(c *runtime.Comm) {
		if c.Rank() == 0 {
			for _, n := range sizes {
				for k := range 4 {
					require.NoError(t, runtime.Send(c, pattern(make([]byte, n), k), 1, k))
				}
			}
			return
		}
		for _, n := range sizes {
			for k := range 4 {
				var m *runtime.Matched
				var err error
				if k%2 == 0 {
					m, err = runtime.Mprobe(c, 0, k)
				} else {
					for ok := false; !ok && err == nil; {
						m, ok, err = runtime.Improbe(c, runtime.AnySource, k)
					}
				}
				require.NoError(t, err)
				require.Equal(t, n, m.Status().Bytes)
				require.Equal(t, k, m.Status().Tag)
				got := make([]byte, n)
				var s runtime.Status
				if k < 2 {
					s, err = runtime.RecvMatched(m, got)
				} else {
					s, err = runtime.IrecvMatched(m, got).Wait()
				}
				require.NoError(t, err)
				require.Equal(t, n, s.Count())
				require.Equal(t, pattern(make([]byte, n), k), got)
				_, err = runtime.RecvMatched(m, got)
				require.ErrorIs(t, err, runtime.ErrRequest, "received once")
				require.ErrorContains(t, err, "received already")
			}
		}
	})
}

// Mprobe and Improbe of ProcNull return the empty message of ProcNull at once (MPICH's
// pt2pt/mprobe.c).
func TestMatchedProbeOfProcNull(t *testing.T) {
	local(t, 1, func(c *runtime.Comm) {
		m, err := runtime.Mprobe(c, runtime.ProcNull, 3)
		require.NoError(t, err)
		s, err := runtime.RecvMatched(m, []int{1})
		require.NoError(t, err)
		require.Equal(t, runtime.ProcNull, s.Source)
		m, ok, err := runtime.Improbe(c, runtime.ProcNull, 3)
		require.NoError(t, err)
		require.True(t, ok)
		s, err = runtime.IrecvMatched(m, []int{1}).Wait()
		require.NoError(t, err)
		require.Equal(t, runtime.ProcNull, s.Source)
		_, ok, err = runtime.Improbe(c, 0, 3)
		require.NoError(t, err)
		require.False(t, ok)
	})
}

// Mprobe finds a message that the rank has sent to itself, although the request of the send was
// dropped (MPICH's pt2pt/mprobe_self_free.c).
func TestMatchedProbeOfADroppedSendToOneself(t *testing.T) {
	local(t, 1, func(c *runtime.Comm) {
		for _, n := range sizes {
			runtime.Isend(c, pattern(make([]byte, n), 5), 0, 1)
			m, err := runtime.Mprobe(c, 0, 1)
			require.NoError(t, err)
			got := make([]byte, n)
			_, err = runtime.RecvMatched(m, got)
			require.NoError(t, err)
			require.Equal(t, pattern(make([]byte, n), 5), got)
		}
	})
}

// A message that Mprobe has returned is not received by a later Recv.
func TestAMatchedMessageIsOutOfTheQueue(t *testing.T) {
	local(t, 1, func(c *runtime.Comm) {
		require.NoError(t, runtime.Send(c, []int{1}, 0, 0))
		require.NoError(t, runtime.Send(c, []int{2}, 0, 0))
		m, err := runtime.Mprobe(c, 0, 0)
		require.NoError(t, err)
		got := make([]int, 1)
		_, err = runtime.Recv(c, got, 0, 0)
		require.NoError(t, err)
		require.Equal(t, 2, got[0])
		_, err = runtime.RecvMatched(m, got)
		require.NoError(t, err)
		require.Equal(t, 1, got[0])
	})
}

// Probe and Iprobe return the source, the tag and the length of a message, in elements of any type.
func TestProbeTellsTheLength(t *testing.T) {
	local(t, 2, func(c *runtime.Comm) {
		if c.Rank() == 0 {
			require.NoError(t, runtime.Send(c, make([]float32, 1234), 1, 6))
			require.NoError(t, runtime.Send(c, make([]padded, 9), 1, 7))
			return
		}
		s, err := runtime.Probe(c, runtime.AnySource, runtime.AnyTag)
		require.NoError(t, err)
		require.Equal(t, 0, s.Source)
		require.Equal(t, 6, s.Tag)
		require.Equal(t, 1234, runtime.CountOf[float32](s))
		require.Equal(t, 4*1234, s.Count(), "without an element type, Count is in bytes")
		_, err = runtime.Recv(c, make([]float32, runtime.CountOf[float32](s)), s.Source, s.Tag)
		require.NoError(t, err)
		for ok := false; !ok; {
			s, ok, err = runtime.Iprobe(c, 0, 7)
			require.NoError(t, err)
		}
		require.Equal(t, 9, runtime.CountOf[padded](s))
		_, ok, err := runtime.Iprobe(c, 0, 8)
		require.NoError(t, err)
		require.False(t, ok)
		_, err = runtime.Recv(c, make([]padded, 9), 0, 7)
		require.NoError(t, err)
	})
}
