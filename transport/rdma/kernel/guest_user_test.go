package kernel_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// asUser is the environment variable that says what the ordinary user of the test lacks: access to the
// device's file, or a sufficient limit of locked memory.
const asUser = "GORUN_TEST_KERNEL_USER"

// TestDeviceUser checks the errors that an ordinary user gets if a requirement is not met. Each error must
// say what was found, what is needed and how the user can get it.
func TestDeviceUser(t *testing.T) {
	name := deviceName(t)
	switch os.Getenv(asUser) {
	case "file":
		_, err := verbs.Open(newProvider(), name)
		require.ErrorIs(t, err, syscall.EACCES)
		for _, says := range []string{"device " + name, "/dev/infiniband/uverbs", "permission denied", "udev rule"} {
			require.ErrorContains(t, err, says)
		}
		return
	case "memory":
		a, err := verbs.Open(newProvider(), name)
		require.NoError(t, err)
		domain, err := a.NewProtectionDomain()
		require.NoError(t, err)
		_, err = domain.Register(make([]byte, 1<<20), verbs.AccessLocalWrite)
		require.ErrorIs(t, err, syscall.ENOMEM)
		for _, says := range []string{"device " + name, "RLIMIT_MEMLOCK allows 65536 bytes", "more are needed", "ulimit -l"} {
			require.ErrorContains(t, err, says)
		}
		require.NoError(t, a.Close())
		return
	}
	files, err := filepath.Glob("/dev/infiniband/uverbs*")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, lacks := range []string{"file", "memory"} {
		for _, file := range files {
			mode := os.FileMode(0o666)
			if lacks == "file" {
				mode = 0o600
			}
			require.NoError(t, os.Chmod(file, mode))
		}
		user := exec.CommandContext(t.Context(), "/bin/sh", "-c", `ulimit -l 64 && exec "$0" -test.run '^TestDeviceUser$' -test.v`, os.Args[0])
		user.Env = append(os.Environ(), asUser+"="+lacks)
		user.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		out, err := user.CombinedOutput()
		require.NoError(t, err, "%s: %s", lacks, out)
		require.Contains(t, string(out), "--- PASS: TestDeviceUser")
	}
}
