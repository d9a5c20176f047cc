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

// failAfterALoss ends the function with an error that is not the loss, when the loss is known: as a
// program does that passes on the text of an error alone.
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

// What the function of Resume returns decides whether it is run again, and not whether gorun was faster.
func TestOwnErrorAfterALossEndsResume(t *testing.T) {
	r := launch(t, 3, "own error after a loss", "-on-failure", "respawn", "-x", envDeaths+"=0:1:start")
	require.Equal(t, 1, r.code, r.errors)
	require.Contains(t, r.errors, "rank 0: the input has no lines")
}

// breakInResume breaks the communicator without a loss.
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

// A communicator that a member has broken ends the job at once: no rank is started again.
func TestBreakEndsResume(t *testing.T) {
	r := launch(t, 3, "broken by a member", "-on-failure", "respawn")
	require.Equal(t, 1, r.code, r.errors)
	require.Contains(t, r.errors, "the input has no lines")
	require.NotContains(t, r.errors, "started again")
}

// leaveWorlds looks for the Worlds that it has left, but for the first, which Main holds.
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

// A World that a process has left is not kept for as long as the process lives.
func TestOldWorldsAreCollected(t *testing.T) {
	r := launch(t, 2, "old worlds", "-on-failure", "respawn", "-x", envDeaths+"=0:1:start,1:1:start,2:1:start")
	require.Zero(t, r.code, r.errors)
	require.Contains(t, r.out, "2 Worlds are gone\n")
}

// quitBetween sends SIGQUIT to rank 0 while that waits for rank 1, which was started again.
func quitBetween() {
	if os.Getenv("GORUN_EPOCH") == "1" {
		pid := peerProcess()
		for nodeMemories(pid) < 2 { // that of the next generation comes when rank 0 has left its World
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
			if err := exchangeShort(w); err != nil { // rank 1 ends after rank 0 has written
				return err
			}
			dieAt(w, "end")
			return exchangeShort(w)
		})
	})
}

// envPeer names a file with the number of rank 0's process.
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

// nodeMemories returns how many node memories a process has mapped.
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

// SIGQUIT between two Worlds asks for a report there, too, and does not end the process.
func TestQuitBetweenWorlds(t *testing.T) {
	r := launch(t, 2, "quit between", "-on-failure", "respawn", "-x", envDeaths+"=0:1:end", "-x", envPeer+"="+filepath.Join(t.TempDir(), "peer"))
	require.Zero(t, r.code, r.errors)
	require.Equal(t, 1, strings.Count(r.errors, "; it is started again ("), r.errors)
}
