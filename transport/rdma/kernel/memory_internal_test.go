package kernel

import (
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/uverbs"
)

// inNamespace is the environment variable that is set in a process of TestPinnedMostInAUserNamespace.
const inNamespace = "GORUN_TEST_USER_NAMESPACE"

// TestPinnedMostInAUserNamespace runs this test in a process that has CAP_IPC_LOCK only in a user namespace of its
// own, as in a rootless container. The test checks that RLIMIT_MEMLOCK is the limit of this process.
func TestPinnedMostInAUserNamespace(t *testing.T) {
	const limit = 64 << 10
	if os.Getenv(inNamespace) != "" {
		header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		var capabilities [2]unix.CapUserData
		require.NoError(t, unix.Capget(&header, &capabilities[0]))
		require.NotZero(t, capabilities[0].Effective&(1<<unix.CAP_IPC_LOCK))
		require.NoError(t, unix.Setrlimit(unix.RLIMIT_MEMLOCK, &unix.Rlimit{Cur: limit, Max: limit}))
		require.Equal(t, limit, pinnedMost(uverbs.DriverRXE))
		return
	}
	exe, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(exe, "-test.run=^"+t.Name()+"$", "-test.count=1")
	cmd.Env = append(os.Environ(), inNamespace+"=1", "GORACE=atexit_sleep_ms=0")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Skipf("no user namespaces: %v", err)
	}
	require.NoError(t, err, "%s", out)
}

// TestPinnedMostOfSIW checks that RLIMIT_MEMLOCK is the limit for siw also if the process has CAP_IPC_LOCK, because
// siw does not look at the capability.
func TestPinnedMostOfSIW(t *testing.T) {
	const limit = 64 << 10
	var before unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_MEMLOCK, &before))
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_MEMLOCK, &unix.Rlimit{Cur: limit, Max: before.Max}))
	defer func() { require.NoError(t, unix.Setrlimit(unix.RLIMIT_MEMLOCK, &before)) }()
	require.Equal(t, limit, pinnedMost(uverbs.DriverSIW))
}
