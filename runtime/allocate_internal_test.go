package runtime

import (
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/transport"
)

// allocate returns memory of the requested length, and an error for a length that exceeds the memory of the machine.
func TestAllocate(t *testing.T) {
	for _, n := range []int{0, 1, allocateFreely, allocateFreely + 1} {
		b, err := allocate(n)
		require.NoError(t, err)
		require.Len(t, b, n)
	}
	for _, n := range []int{1 << 45, 1 << 47, 1 << 48} {
		_, err := allocate(n)
		require.Error(t, err)
	}
}

// Alloc and NewShared return an error for memory that exceeds the memory of the machine. On Go's heap, the allocation
// itself would end the process.
func TestMoreThanTheMachineHas(t *testing.T) {
	var info unix.Sysinfo_t
	require.NoError(t, unix.Sysinfo(&info))
	most := int((info.Totalram + info.Totalswap) * uint64(info.Unit))
	everywhere(t, 1, func(w *World) error {
		_, err := Alloc[byte](w, most+1)
		require.ErrorContains(t, err, fmt.Sprintf("no memory for a Buffer of %d bytes: the machine has %d bytes", most+1, most))
		_, err = NewShared(w.Comm(), most+1)
		require.ErrorContains(t, err, fmt.Sprintf("new shared memory of %d bytes a rank: ", most+1))
		return nil
	})
}

// A length that exceeds a resource limit of the process leads to an error, and does not end the
// process. The test sets the limit in a process of its own.
func TestAllocateUnderALimit(t *testing.T) {
	const env, more = "GORUN_TEST_LIMITED", 1 << 30
	if os.Getenv(env) == "" {
		command := exec.Command(os.Args[0], "-test.run=^TestAllocateUnderALimit$")
		command.Env = append(os.Environ(), env+"=1")
		out, err := command.CombinedOutput()
		require.NoError(t, err, "%s", out)
		return
	}
	limit := dataBytes(t) + more
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_DATA, &unix.Rlimit{Cur: limit, Max: limit}))
	_, err := allocate(more)
	require.ErrorIs(t, err, unix.ENOMEM)
	b, err := allocate(more / 4)
	require.NoError(t, err)
	require.Len(t, b, more/4)
}

// dataBytes returns the number of bytes of this process that count against RLIMIT_DATA (proc(5),
// VmData).
func dataBytes(t *testing.T) uint64 {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(status), "VmData:")
	require.True(t, found)
	kilobytes, err := strconv.ParseUint(strings.Fields(rest)[0], 10, 64)
	require.NoError(t, err)
	return kilobytes << 10
}

// A receive of a message for which there is no memory ends with an error that contains the rank of
// the sender in the communicator. The receiving rank continues.
func TestMessageWithoutMemory(t *testing.T) {
	const length = 1 << 45
	everywhere(t, 3, func(w *World) error {
		c, err := w.Comm().Split(0, -w.Rank())
		require.NoError(t, err)
		switch w.Rank() {
		case 2:
			require.NoError(t, Send(c, []byte("x"), 2, 6))
			h := transport.Header{A: frameAnnounced | frameKey | uint64(c.id)<<32, B: 5, C: 1}
			return forge(w, 0, h, append(binary.LittleEndian.AppendUint64(nil, length), make([]byte, 16)...))
		case 0:
			_, err := RecvMessage(c, 0, 5)
			var short *MemoryError
			require.ErrorAs(t, err, &short)
			require.Equal(t, MemoryError{Source: 0, Tag: 5, Bytes: length, Cause: short.Cause}, *short)
			m, err := RecvMessage(c, 0, 6)
			require.NoError(t, err)
			require.Equal(t, []byte("x"), m.Bytes())
			m.Close()
		}
		return nil
	})
}
