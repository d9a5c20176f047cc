//go:build !portable

package bootstrap_test

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/bootstrap"
)

const (
	// limitEnv is the variable that makes the test binary print the size of node memory for two ranks under a
	// file size limit (RLIMIT_FSIZE). Its value is the limit in bytes.
	limitEnv = "BOOTSTRAP_TEST_LIMIT"
	// shmEnv is the variable that makes the test binary mount a /dev/shm of its own and print its node ID.
	shmEnv = "BOOTSTRAP_TEST_SHM"
)

func limitedMain(text string) {
	limit, err := strconv.ParseUint(text, 10, 64)
	if err == nil {
		err = unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: limit, Max: limit})
	}
	if err != nil {
		panic(err)
	}
	_, each, err := bootstrap.NodeMemory(2)
	fmt.Println(each, err)
}

func ownShmMain() {
	if err := unix.Mount("shm", "/dev/shm", "tmpfs", 0, ""); err != nil {
		fmt.Println("skip", err)
		return
	}
	node, err := bootstrap.ThisNode()
	fmt.Println(node, err)
}

// again runs the test binary with a variable and returns what it prints.
func again(t *testing.T, variable string, attr *syscall.SysProcAttr) (string, error) {
	t.Helper()
	exe, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), variable, "GORACE=atexit_sleep_ms=0")
	cmd.SysProcAttr = attr
	out, err := cmd.Output()
	return strings.TrimSpace(string(out)), err
}

// Node memory stays within RLIMIT_FSIZE, because SIGXFSZ would end a process that makes a larger
// file. NodeMemory returns an error if the limit is too low.
func TestNodeMemoryHeedsTheLimitOfFiles(t *testing.T) {
	out, err := again(t, limitEnv+"="+fmt.Sprint(100<<20), nil)
	require.NoError(t, err)
	require.Equal(t, fmt.Sprint(32<<20, " <nil>"), out, "the largest power of two")
	out, err = again(t, limitEnv+"=4096", nil)
	require.NoError(t, err)
	require.Contains(t, out, "too few (ulimit -f?)")
}

// A process with a /dev/shm of its own, as in a container, is on a node of its own. The reason is that it
// cannot share memory with other processes of the machine.
func TestContainersAreNodesOfTheirOwn(t *testing.T) {
	attr := &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	if uid := os.Geteuid(); uid != 0 {
		attr.Cloneflags |= syscall.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: uid, Size: 1}}
	}
	// The new mount namespace is private, so that its mounts are not visible in this process.
	attr.Unshareflags = syscall.CLONE_NEWNS
	out, err := again(t, shmEnv+"=1", attr)
	if err != nil || strings.HasPrefix(out, "skip") {
		t.Skipf("no right to mount a /dev/shm: %v %s", err, out)
	}
	own, err := bootstrap.ThisNode()
	require.NoError(t, err)
	require.NotEqual(t, fmt.Sprint(own, " <nil>"), out)
	require.True(t, strings.HasSuffix(out, " <nil>"), out)
}
