package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/cmd/gorun/internal/placement"
)

// After a failed start of a rank, gorun's end of the rank's socket is closed, and no pipes of the rank are kept.
func TestFailedStartClosesTheDescriptors(t *testing.T) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	require.NoError(t, err)
	s := &spawner{
		node: &node{bind: placement.None, contain: &scan{}}, memory: null, secret: null, null: null,
		wires: &wiring{input: inputAgain},
	}
	r := &rank{app: &app{program: "missing"}, path: t.TempDir() + "/missing"}
	require.ErrorIs(t, s.startRank(r), os.ErrNotExist)
	require.Empty(t, r.held)
	require.ErrorIs(t, r.conn.Close(), os.ErrClosed)
	require.NoError(t, null.Close())
}
