package main_test

import (
	"io"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// No output is lost if another process sets gorun's standard output to nonblocking mode while gorun runs.
func TestOutputThatBecomesNonblocking(t *testing.T) {
	read, write, err := os.Pipe()
	require.NoError(t, err)
	defer func() { require.NoError(t, read.Close()) }()
	const size = 1 << 20
	r := command(t, nil, "-np", "2", "-stdin", "0", "sh", "-c", "[ $GORUN_RANK = 1 ] || { echo ready; read line; head -c 1048576 /dev/zero; }")
	r.Stdout = write
	stdin, err := r.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, r.Start())
	ready := make([]byte, len("ready\n"))
	_, err = io.ReadFull(read, ready)
	require.NoError(t, err)
	require.NoError(t, unix.SetNonblock(int(write.Fd()), true))
	require.NoError(t, write.Close())
	_, err = io.WriteString(stdin, "go\n")
	require.NoError(t, err)
	require.NoError(t, stdin.Close())
	full := func() bool { // the pipe has no room for a page
		n, err := unix.IoctlGetInt(int(read.Fd()), unix.TIOCINQ)
		require.NoError(t, err)
		return n > 60<<10
	}
	require.Eventually(t, full, limit, time.Millisecond)
	data, err := io.ReadAll(read)
	require.NoError(t, err)
	require.Len(t, data, size)
	require.Zero(t, r.wait(t), r.err.String())
}
