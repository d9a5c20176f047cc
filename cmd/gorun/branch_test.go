package main_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A command by which an agent reaches another host may leave a process that holds its standard error, as the master of
// ssh's ControlPersist does. The job does not wait for that process, and a host that cannot be reached is reported.
func TestCommandOfAnAgentLeavesAProcess(t *testing.T) {
	for name, c := range map[string]struct {
		then string
		code int
		err  string
	}{
		"success":     {"", 0, ""},
		"unreachable": {"exit 255", 125, "host b: it cannot be reached: "},
	} {
		t.Run(name, func(t *testing.T) {
			pidFile := filepath.Join(t.TempDir(), "pid")
			rsh := script(t, "export GORUN_HOSTID=$1\n[ $1 = b ] && { setsid sleep 1000 >/dev/null </dev/null & echo $! >"+pidFile+"; "+c.then+"\n}\nshift; exec \"$@\"\n")
			r := command(t, []string{"GORUN_RADIX=1"}, "-host", "a,b", "-answer-within", "1h", "-rsh", rsh, "echo", "hello")
			t.Cleanup(func() { // before the cleanup of command
				text, err := os.ReadFile(pidFile)
				require.NoError(t, err)
				pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
				require.NoError(t, err)
				if strings.HasPrefix(commandLine(pid), "sleep") {
					kill9(pid)
				}
				gone(t, r)
			})
			require.NoError(t, r.Start())
			require.Equal(t, c.code, r.wait(t), r.err.String())
			require.Contains(t, r.err.String(), c.err)
			if c.code == 0 {
				require.Equal(t, "hello\nhello\n", r.out.String())
				require.Empty(t, r.err.String())
			}
		})
	}
}
