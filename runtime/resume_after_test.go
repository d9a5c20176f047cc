package runtime_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	goruntime "runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"weak"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime"
)

func init() {
	programs["own error after a loss"] = func() { runtime.Main(failAfterALoss) }
	programs["broken by a member"] = func() { runtime.Main(breakInResume) }
	programs["old worlds"] = func() { runtime.Main(leaveWorlds) }
	programs["quit between"] = quitBetween
}

// failAfterALoss ends the function of Resume after a loss with an error that does not wrap the
// PeerError. A program does this if it passes on only the text of an error.
func failAfterALoss(w *runtime.World) error {
	return w.Resume(func(w *runtime.World) error {
		dieAt(w, "start")
		_, err := runtime.Recv(w.Comm(), make([]int, 1), 1, 0)
		if w.Rank() == 0 {
			return fmt.Errorf("%w: %v", errOwn, err) //nolint:errorlint // the error is not to be the loss
		}
		return err
	})
}

// The error that the function of Resume returns decides whether the function is run again. It does
// not matter whether gorun has reported the loss before.
func TestOwnErrorAfterALossEndsResume(t *testing.T) {
	r := launch(t, 3, "own error after a loss", "-on-failure", "respawn", "-x", envDeaths+"=0:1:start")
	require.Equal(t, 1, r.code, r.errors)
	require.Contains(t, r.errors, "rank 0: the input has no lines")
}

// breakInResume breaks the communicator although no rank is lost.
func breakInResume(w *runtime.World) error {
	return w.Resume(func(w *runtime.World) error {
		if w.Rank() == 1 {
			w.Comm().Break(errOwn)
		}
		_, err := runtime.Recv(w.Comm(), make([]int, 1), 2, 0)
		if !errors.Is(err, runtime.ErrCommBroken) {
			panic(err)
		}
		return err
	})
}

// If a member breaks the communicator, the job ends at once, and no rank is started again.
func TestBreakEndsResume(t *testing.T) {
	r := launch(t, 3, "broken by a member", "-on-failure", "respawn")
	require.Equal(t, 1, r.code, r.errors)
	require.Contains(t, r.errors, "the input has no lines")
	require.NotContains(t, r.errors, "started again")
}

// leaveWorlds makes rank 0 wait until the garbage collector has freed the Worlds that rank 0 has left. The
// first World is excluded, because Main holds it.
func leaveWorlds(w *runtime.World) error {
	var left []weak.Pointer[runtime.World]
	return w.Resume(func(w *runtime.World) error {
		if w.Generation() > 0 && w.Role() == runtime.Survivor {
			left = append(left, weak.Make(w))
		}
		dieAt(w, "start")
		if err := exchangeShort(w); err != nil {
			return err
		}
		if w.Rank() != 0 {
			return nil
		}
		for i := range left[:len(left)-1] {
			for left[i].Value() != nil {
				goruntime.GC()
			}
		}
		fmt.Fprintf(os.Stdout, "%d Worlds are gone\n", len(left)-1)
		return nil
	})
}

// A World that a process has left is garbage-collected while the process continues.
func TestOldWorldsAreCollected(t *testing.T) {
	r := launch(t, 2, "old worlds", "-on-failure", "respawn", "-x", envDeaths+"=0:1:start,1:1:start,2:1:start")
	require.Zero(t, r.code, r.errors)
	require.Contains(t, r.out, "2 Worlds are gone\n")
}

// quitBetween sends SIGQUIT to rank 0 while rank 0 waits for rank 1, which was started again.
func quitBetween() {
	if os.Getenv("GORUN_EPOCH") == "1" {
		pid := peerProcess()
		for nodeMemories(pid) < 2 { // rank 0 maps the next generation's memory after it has left its World
			goruntime.Gosched()
		}
		if err := syscall.Kill(pid, syscall.SIGQUIT); err != nil {
			panic(err)
		}
	}
	runtime.Main(func(w *runtime.World) error {
		return w.Resume(func(w *runtime.World) error {
			if w.Rank() == 0 && w.Generation() == 0 {
				if err := os.WriteFile(os.Getenv(envPeer), []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil {
					return err
				}
			}
			if err := exchangeShort(w); err != nil { // rank 1 dies only after rank 0 has written the file
				return err
			}
			dieAt(w, "end")
			return exchangeShort(w)
		})
	})
}

// envPeer names a file that contains the process ID of rank 0.
const envPeer = "GORUN_TEST_PEER"

func peerProcess() int {
	text, err := os.ReadFile(os.Getenv(envPeer))
	if err != nil {
		panic(err)
	}
	pid, err := strconv.Atoi(string(text))
	if err != nil {
		panic(err)
	}
	return pid
}

// nodeMemories returns the number of node memories that a process has mapped.
func nodeMemories(pid int) int {
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		panic(err)
	}
	inodes := map[string]bool{}
	for line := range strings.Lines(string(maps)) {
		if fields := strings.Fields(line); len(fields) > 5 && strings.HasPrefix(fields[5], "/memfd:gorun-node") {
			inodes[fields[4]] = true
		}
	}
	return len(inodes)
}

// SIGQUIT to a rank that is between two Worlds does not end the process.
func TestQuitBetweenWorlds(t *testing.T) {
	r := launch(t, 2, "quit between", "-on-failure", "respawn", "-x", envDeaths+"=0:1:end", "-x", envPeer+"="+filepath.Join(t.TempDir(), "peer"))
	require.Zero(t, r.code, r.errors)
	require.Equal(t, 1, strings.Count(r.errors, "; it is started again ("), r.errors)
}
