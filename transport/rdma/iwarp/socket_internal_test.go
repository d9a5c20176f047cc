package iwarp

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// TestLoopbackSendBuffer checks that a socket for loopback gets a send buffer of a fixed size (see loopbackBuffer),
// and that a socket for another address keeps the size that the kernel chooses.
func TestLoopbackSendBuffer(t *testing.T) {
	size := func(address string) int {
		fd, err := newSocket(netip.MustParseAddr(address))
		require.NoError(t, err)
		defer unix.Close(fd)
		n, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF)
		require.NoError(t, err)
		return n
	}
	require.Equal(t, 2*loopbackBuffer, size("127.0.0.1"))
	require.NotEqual(t, 2*loopbackBuffer, size("192.0.2.1"))
}
