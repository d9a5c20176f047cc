package main

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// TestStalledHostIsNamed checks which host is declared lost if a file does not arrive. The lost host must be
// the host that does not take its own bytes. It must not be a host below that host in the tree, or a host
// that has taken all its bytes.
func TestStalledHostIsNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const patience = 10 * time.Second
		above, stalled, behind, beside := &host{name: "h1"}, &host{name: "h2"}, &host{name: "h3"}, &host{name: "h4"}
		stalled.via, behind.via, beside.via = above, stalled, above
		ended := make(chan struct{})
		for _, h := range []*host{above, stalled, behind, beside} {
			h.files = newWindowOf(100)
			go h.expectProgress(nil, ended, patience)
		}
		require.True(t, stalled.files.take(10) && behind.files.take(10))
		time.Sleep(5 * patience)
		require.ErrorContains(t, stalled.reason(), "no answer within 10s")
		for _, h := range []*host{above, behind, beside} {
			require.NoError(t, h.reason(), h.name)
		}
		require.True(t, stalled.files.give(10))
		time.Sleep(2 * patience)
		require.Error(t, behind.reason(), "nothing holds it up any more")
		close(ended)
	})
}
