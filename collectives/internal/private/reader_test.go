package private_test

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	goruntime "runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/collectives/internal/node"
	"github.com/gorun-hpc/gorun/collectives/internal/private"
)

// envChild is the environment variable that makes this test binary the process whose memory is
// read.
const envChild = "GORUN_TEST_PRIVATE"

func TestMain(m *testing.M) {
	if os.Getenv(envChild) != "" {
		child()
	}
	os.Exit(m.Run())
}

var text = []byte(strings.Repeat("what the other process keeps. ", 10000))

// child prints the address of its text, and the value and address of a word of its own. Then it
// waits for the end of its standard input.
func child() {
	word := binary.NativeEndian.AppendUint64(nil, uint64(os.Getpid())<<32|0xc00c1e)
	fmt.Println(addressOf(text), binary.NativeEndian.Uint64(word), addressOf(word))
	_, _ = io.Copy(io.Discard, os.Stdin)
	goruntime.KeepAlive(word)
	os.Exit(0)
}

// start starts another process. It returns the process, the address of its text, and a function
// that ends the process.
func start(t *testing.T) (p node.Process, addr uint64, end func()) {
	t.Helper()
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
	p.ID = uint64(cmd.Process.Pid)
	_, err = fmt.Sscan(line, &addr, &p.Cookie, &p.CookieAt)
	require.NoError(t, err)
	return p, addr, func() {
		require.NoError(t, stdin.Close())
		require.NoError(t, cmd.Wait())
	}
}

func TestReadAnotherProcess(t *testing.T) {
	process, addr, end := start(t)
	got := make([]byte, len(text))
	err := private.Reader{}.Read(process, addr, got)
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
	end()
	require.Error(t, private.Reader{}.Read(process, addr, got[:8]), "a process that has ended")
}

// TestAnotherProcessWithTheID checks a process that has got the ID of an ended process. The reader
// must not read from the new process, even if the new process has memory at the address.
func TestAnotherProcessWithTheID(t *testing.T) {
	ended, addr, end := start(t)
	err := private.Reader{}.Read(ended, addr, make([]byte, 1))
	end()
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSYS) {
		t.Skipf("process_vm_readv: %v", err)
	}
	require.NoError(t, err)
	process, addr, end := start(t)
	defer end()
	nowhere := process
	nowhere.CookieAt = 8
	ended.ID, ended.CookieAt = process.ID, process.CookieAt
	for name, p := range map[string]node.Process{"another word": ended, "no word": nowhere} {
		for _, at := range []uint64{addr, 8} {
			for _, n := range []int{0, 1, len(text)} {
				err := private.Reader{}.Read(p, at, make([]byte, n))
				require.ErrorIs(t, err, unix.ESRCH, "%s: %d bytes at %#x", name, n, at)
			}
		}
	}
	require.NoError(t, private.Reader{}.Read(process, addr, make([]byte, len(text))))
}

// own returns this process and the memory of its word.
func own() (node.Process, []byte) {
	word := make([]byte, 8)
	return node.Process{ID: uint64(os.Getpid()), CookieAt: addressOf(word)}, word
}

func TestReadThisProcess(t *testing.T) {
	process, word := own()
	require.Equal(t, process.ID, private.Reader{}.Process())
	got := make([]byte, 8)
	require.ErrorIs(t, private.Reader{}.Read(process, addressOf(text), got), private.ErrSameProcess)
	if err := private.ReadAny(process, addressOf(text), got); err != nil {
		t.Skipf("process_vm_readv: %v", err)
	}
	require.Equal(t, text[:8], got)
	require.Zero(t, testing.AllocsPerRun(100, func() { _ = private.ReadAny(process, addressOf(text), got) }))
	goruntime.KeepAlive(word)
}

// TestReadBeyondTheEnd checks that a read that reaches unmapped memory fails, even if it has
// copied some bytes.
func TestReadBeyondTheEnd(t *testing.T) {
	page := os.Getpagesize()
	b, err := unix.Mmap(-1, 0, 2*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	require.NoError(t, err)
	defer func() { require.NoError(t, unix.Munmap(b)) }()
	require.NoError(t, unix.Mprotect(b[page:], unix.PROT_NONE))
	process, word := own()
	require.Error(t, private.ReadAny(process, addressOf(b)+uint64(page-4), make([]byte, 8)))
	goruntime.KeepAlive(word)
}

// TestReadEndsWithinTheCookie reads so many bytes that the kernel ends its first copy within the cookie or, with the
// longest of three lengths, before the cookie.
func TestReadEndsWithinTheCookie(t *testing.T) {
	process, word := own()
	if err := private.ReadAny(process, addressOf(text), make([]byte, 1)); err != nil {
		t.Skipf("process_vm_readv: %v", err)
	}
	for _, n := range []int{private.CallMost - 7, private.CallMost - 1, private.CallMost + 1} {
		b := repeated(t, n)
		require.NoError(t, private.ReadAny(process, addressOf(b), b), n)
	}
	goruntime.KeepAlive(word)
}
