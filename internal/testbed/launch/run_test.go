package launch_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/internal/testbed/launch"
)

func TestExecuteReturnsOutput(t *testing.T) {
	out, err := launch.Execute(t.Context(), time.Minute, []string{"WORD=there"}, "sh", "-c", "echo hello $WORD; echo oops >&2")
	require.NoError(t, err)
	require.Equal(t, "hello there\n", out.Out)
	require.Equal(t, "oops\n", out.Errors)
	require.Positive(t, out.Wall)
}

func TestExecuteReportsFailure(t *testing.T) {
	out, err := launch.Execute(t.Context(), time.Minute, nil, "sh", "-c", "echo why >&2; exit 3")
	require.Equal(t, 3, out.Code)
	require.ErrorContains(t, err, "exit status 3")
	require.ErrorContains(t, err, "why")
	require.NotErrorIs(t, err, launch.ErrTimeout)
}

// TestExecuteEndsWhatHangs checks that a job that hangs is ended, together with its processes in
// other sessions.
func TestExecuteEndsWhatHangs(t *testing.T) {
	pidFile := filepath.Join(t.TempDir(), "pid")
	_, err := launch.Execute(t.Context(), 300*time.Millisecond, nil,
		"sh", "-c", `trap "" TERM; setsid sh -c "echo \$\$ > `+pidFile+`; exec sleep 600" & wait; sleep 600`)
	require.ErrorIs(t, err, launch.ErrTimeout)
	pid, err := os.ReadFile(pidFile)
	require.NoError(t, err)
	process := filepath.Join("/proc", strings.TrimSpace(string(pid)))
	require.Eventually(t, func() bool {
		stat, err := os.ReadFile(filepath.Join(process, "stat"))
		return err != nil || strings.Contains(string(stat), ") Z ")
	}, 10*time.Second, 10*time.Millisecond)
}
