package private_test

import (
	"os"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func addressOf(b []byte) uint64 { return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) }

// repeated returns n bytes of address space that show the same piece of memory again and again, so that more bytes can
// be written than this machine may have memory.
func repeated(t *testing.T, n int) []byte {
	t.Helper()
	const piece = 8 << 20
	fd, err := unix.MemfdCreate("repeated", unix.MFD_CLOEXEC)
	require.NoError(t, err)
	f := os.NewFile(uintptr(fd), "repeated")
	require.NoError(t, f.Truncate(piece))
	whole, err := unix.Mmap(-1, 0, (n+piece-1)/piece*piece, unix.PROT_NONE, unix.MAP_ANON|unix.MAP_PRIVATE|unix.MAP_NORESERVE)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, unix.Munmap(whole)) })
	for at := 0; at < len(whole); at += piece {
		_, err := unix.MmapPtr(fd, 0, unsafe.Pointer(&whole[at]), piece, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_FIXED)
		require.NoError(t, err)
	}
	require.NoError(t, f.Close())
	return whole[:n:n]
}
