package private_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/collectives/internal/private"
)

// envChild makes this test binary a process whose memory is read.
const envChild = "GORUN_TEST_PRIVATE"

func TestMain(m *testing.M) {
	if os.Getenv(envChild) != "" {
		child()
	}
	os.Exit(m.Run())
}

var text = []byte(strings.Repeat("what the other process keeps. ", 10000))

// child says where its text is and waits for the end of its standard input.
func child() {
	fmt.Println(addressOf(text))
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}

func TestReadAnotherProcess(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), envChild+"=1")
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	var addr uint64
	_, err = fmt.Sscan(line, &addr)
	require.NoError(t, err)
	process := uint64(cmd.Process.Pid)

	got := make([]byte, len(text))
	err = private.Reader{}.Read(process, addr, got)
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSYS) {
		t.Logf("this machine lets no process read another's memory: %v", err)
	} else {
		require.NoError(t, err)
		require.Equal(t, text, got)
		require.NoError(t, private.Reader{}.Read(process, addr+5, got[:7]))
		require.Equal(t, text[5:12], got[:7])
		require.NoError(t, private.Reader{}.Read(process, addr, nil))
		require.ErrorIs(t, private.Reader{}.Read(process, 8, got[:8]), unix.EFAULT)
	}

	require.NoError(t, stdin.Close())
	require.NoError(t, cmd.Wait())
	require.Error(t, private.Reader{}.Read(process, addr, got[:8]), "a process that has ended")
}

func TestReadThisProcess(t *testing.T) {
	r := private.Reader{}
	got := make([]byte, 8)
	require.ErrorIs(t, r.Read(r.Process(), addressOf(text), got), private.ErrSameProcess)
	if err := private.ReadAny(os.Getpid(), addressOf(text), got); err != nil {
		t.Skipf("process_vm_readv: %v", err)
	}
	require.Equal(t, text[:8], got)
	require.Zero(t, testing.AllocsPerRun(100, func() { _ = private.ReadAny(os.Getpid(), addressOf(text), got) }))
}

// A read that runs into memory that is not there fails, whatever it has copied.
func TestReadBeyondTheEnd(t *testing.T) {
	page := os.Getpagesize()
	b, err := unix.Mmap(-1, 0, 2*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	require.NoError(t, err)
	defer func() { require.NoError(t, unix.Munmap(b)) }()
	require.NoError(t, unix.Mprotect(b[page:], unix.PROT_NONE))
	require.Error(t, private.ReadAny(os.Getpid(), addressOf(b)+uint64(page-4), make([]byte, 8)))
}
