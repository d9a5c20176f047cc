package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// An event of a pipe may be handled after the source of the pipe has ended. The number of the pipe's descriptor
// may then belong to another file. That file is not read.
func TestReadAfterTheEndOfASource(t *testing.T) {
	name := filepath.Join(t.TempDir(), "data")
	require.NoError(t, os.WriteFile(name, []byte("data"), 0o644))
	other, err := os.Open(name)
	require.NoError(t, err)
	defer func() { require.NoError(t, other.Close()) }()
	o := &output{buf: make([]byte, 16), open: 1}
	ended := &source{fd: int(other.Fd()), lines: newSplitter(nil, false), ended: true}
	require.Zero(t, o.read(ended))
	at, err := other.Seek(0, unix.SEEK_CUR)
	require.NoError(t, err)
	require.Zero(t, at)
}
