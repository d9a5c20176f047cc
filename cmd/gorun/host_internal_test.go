package main

import (
	"fmt"
	"io"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/cmd/gorun/internal/link"
)

// TestEnding checks which errors of receiving mean that the agent has ended. If the agent is killed before it has read
// all bytes, the kernel resets the connection.
func TestEnding(t *testing.T) {
	for _, end := range []error{io.EOF, io.ErrUnexpectedEOF, os.ErrClosed, unix.ECONNRESET} {
		require.Equal(t, "the connection ended", new(host).ending(fmt.Errorf("read agent: %w", end)))
	}
	require.Equal(t, "read agent: "+link.ErrMalformed.Error(), new(host).ending(fmt.Errorf("read agent: %w", link.ErrMalformed)))
}
