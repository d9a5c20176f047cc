package shm_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/shm"
)

// EagerBoth differs from 0 only if a Get copies the data once between processes. Before the first
// message to the peer it is 0, because only this message finds out whether the peer has joined.
func TestEagerBoth(t *testing.T) {
	needsAlone(t)
	staged, node := mapped(t, 2, shm.Config{DisableCMA: true})
	t.Cleanup(func() {
		require.NoError(t, staged[0].Close())
		require.NoError(t, staged[1].Close())
		require.NoError(t, node.Close())
	})
	refused := pair(t)
	shm.RefuseDirect(refused[0], unix.EPERM)
	for name, c := range map[string]struct {
		ranks []*shm.Transport
		want  int
	}{
		"direct":               {pair(t), 12 << 10},
		"switched off":         {staged, 0},
		"refused":              {refused, 0},
		"ranks of one process": {local(t, 2, false), 0},
	} {
		e, err := c.ranks[0].Endpoint(1)
		require.NoError(t, err)
		require.Zero(t, e.Caps().EagerBoth, name)
		require.NoError(t, e.Send(transport.Header{}, nil))
		require.Equal(t, c.want, e.Caps().EagerBoth, name)
	}
}
