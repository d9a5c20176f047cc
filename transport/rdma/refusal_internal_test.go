package rdma

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// refusing is a registrar that refuses one slice.
type refusing struct {
	registrar
	b   []byte
	err error
}

func (r *refusing) Register(b []byte, access verbs.Access) (*verbs.MemoryRegion, error) {
	if len(b) == len(r.b) && &b[0] == &r.b[0] {
		return nil, r.err
	}
	return r.registrar.Register(b, access)
}

// TestMemoryThatCannotBeRegisteredEvictsNothing checks that a registration that fails evicts parts only if the error
// says that resources are exhausted, and only if the memory is not longer than what the process may pin.
func TestMemoryThatCannotBeRegisteredEvictsNothing(t *testing.T) {
	const most = 2 * 2 * arenaChunk // of the process: pinned.most is half of it
	for _, c := range []struct {
		name    string
		bytes   int
		err     error
		evicted int
	}{
		{"no room", 1 << 20, verbs.ErrInsufficientResources, 2},
		{"no room for more than may stay registered", most, verbs.ErrInsufficientResources, 2},
		{"more than the process may pin", most + 2, verbs.ErrInsufficientResources, 0},
		{"not mapped", 1 << 20, verbs.ErrInvalidParameter, 0},
		{"a closed adapter", 1 << 20, verbs.ErrInvalidHandle, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newStore(t, 2, most/2)
			b := make([]byte, c.bytes)
			r.domain = &refusing{r.domain, b, c.err}
			for chunk := range 2 {
				m := r.stay(chunk*arenaChunk, chunk*arenaChunk+10, r.own)
				require.NoError(t, r.give(registration{m.region, 0, m}))
			}
			_, err := r.alone(b, verbs.AccessLocalWrite)
			require.ErrorIs(t, err, c.err)
			require.Equal(t, c.evicted, r.counts.evicted)
			require.Len(t, r.lasting, 2-c.evicted)
		})
	}
}
