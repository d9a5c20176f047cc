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

// If standard error is joined to standard output, the error of a rank that was started again is added to the standard
// output of its new process. Otherwise, the error is added to the standard error of the new process.
func TestErrorBelongsToTheNewProcess(t *testing.T) {
	for _, merged := range []bool{false, true} {
		o := &output{errors: make([]*source, 1)}
		start := func() (last *source) {
			for _, which := range []stream{streamOut, streamErr}[:map[bool]int{false: 2, true: 1}[merged]] {
				last = &source{which: which}
				o.append(last)
			}
			return last
		}
		for range 3 {
			require.Same(t, start(), o.errors[0], "merged: %v", merged)
		}
	}
}

// If an incomplete line of a source ends, and the source begins another one before the incomplete lines are flushed,
// output.partial has the source only once. With two entries, output.stalled would extend its waiting time twice.
func TestSourceIsListedOnce(t *testing.T) {
	name := filepath.Join(t.TempDir(), "rank.0.out")
	f, err := os.Create(name)
	require.NoError(t, err)
	defer func() { require.NoError(t, f.Close()) }()
	o := &output{files: &rankLogs{files: [][2]*os.File{{f}}}}
	s := &source{lines: newSplitter(nil, true)}
	for _, text := range []string{"a", "b\n", "c", "d\n", "e"} {
		o.move(s, []byte(text))
	}
	require.Equal(t, []*source{s}, o.partial)
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, "ab\ncd\n", string(text))
}
