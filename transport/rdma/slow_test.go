package rdma_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs/verbstest"
)

// TestSlow checks that Slow returns true if no adapter of the transport pins memory, and false otherwise.
func TestSlow(t *testing.T) {
	places := memory(verbstest.StyleIWARP, 2)
	pinning(places[1:])
	w := newWorld(t, places, nil)
	r := w.ranks(t)
	require.True(t, r[0].Slow())
	require.False(t, r[1].Slow())
}
