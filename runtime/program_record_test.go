package runtime_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/bootstrap"
	testbed "github.com/gorun-hpc/gorun/internal/testbed/launch"
	"github.com/gorun-hpc/gorun/internal/testbed/nscluster"
	"github.com/gorun-hpc/gorun/runtime"
)

// dieOnRecord kills rank 1 with SIGKILL when it has completed two operations and begun a third one.
func dieOnRecord(w *runtime.World) error { return signalOnRecord(w, syscall.SIGKILL) }

// stopOnRecord is like dieOnRecord, but stops rank 1 with SIGSTOP.
func stopOnRecord(w *runtime.World) error {
	if w.Rank() == 0 {
		fmt.Fprintln(os.Stdout, os.Getenv(bootstrap.EnvJob))
	}
	return signalOnRecord(w, syscall.SIGSTOP)
}

func signalOnRecord(w *runtime.World, sig syscall.Signal) error {
	c := w.Comm()
	other := 1 - c.Rank()
	if c.Rank() == 0 {
		if err := runtime.Send(c, make([]byte, 8), other, 5); err != nil {
			return err
		}
		_, err := runtime.Recv(c, make([]byte, 8), other, 6)
		if err == nil {
			_, err = runtime.Recv(c, make([]byte, 8), other, 7)
		}
		return err
	}
	if _, err := runtime.Recv(c, make([]byte, 100), other, 5); err != nil {
		return err
	}
	if err := runtime.Send(c, make([]byte, 8), other, 6); err != nil {
		return err
	}
	_ = runtime.Irecv(c, make([]byte, 64), runtime.AnySource, 9)
	return syscall.Kill(os.Getpid(), sig)
}

// After a rank was killed, gorun prints the last operations of the rank, because their record is in
// memory that outlives the process.
func TestLastOperationsOfAKilledRank(t *testing.T) {
	for _, transport := range []string{"shm", "rdma"} {
		t.Run(transport, func(t *testing.T) {
			r := launch(t, 2, "record", "-transport", transport)
			require.Equal(t, 137, r.code, r.errors)
			require.Regexp(t, `(?m)^gorun: first failure: rank 1 .* was killed by SIGKILL.*\n`+
				`gorun: its last operations:\n`+
				`gorun:   \| receive from rank 0, tag 5, (8|100) bytes, world: done for \S+.*\n`+
				`gorun:   \| send to rank 0, tag 6, 8 bytes, world: done for \S+.*\n`+
				`gorun:   \| receive, tag 9, 64 bytes, world: begun for \S+$`, r.errors)
		})
	}
}

// gorun inspect shows the last operations of a rank that is stopped and cannot answer.
func TestLastOperationsOfAStoppedRank(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), testbed.Gorun(t), "-np", "2", "-on-deadlock", "ignore", "-x", envProgram+"=halt", self)
	require.NoError(t, cmd.Start())
	const wanted = `(?m)^last operations of rank 1:\n` +
		`  receive from rank 0, tag 5, (8|100) bytes, world: done for \S+.*\n` +
		`  send to rank 0, tag 6, 8 bytes, world: done for \S+.*\n` +
		`  receive, tag 9, 64 bytes, world: begun for \S+$`
	var shown string
	require.Eventually(t, func() bool {
		jobs := finish(t, nil, testbed.Gorun(t), "inspect", "no-such-job")
		for _, name := range regexp.MustCompile(`\d+-[0-9a-f]{8}`).FindAllString(jobs.errors, -1) {
			r := finish(t, nil, testbed.Gorun(t), "inspect", name) // another job may run at the same time
			if strings.Contains(r.out, envProgram+"=halt") {
				shown = r.out
			}
		}
		return regexp.MustCompile(wanted).MatchString(shown) && strings.Contains(shown, "no answer from rank 1\n")
	}, time.Minute, 10*time.Millisecond, "%s", shown)
	require.Regexp(t, stoppedSentence, shown)
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
}

// stoppedSentence matches what the first sentence of a report says about rank 1, which is stopped.
const stoppedSentence = `ended\n.*rank 1 is stopped by a signal: kill -CONT \d+ on host \S+ continues it\n`

// halted starts a job whose program calls stopOnRecord. It returns the job's ID and, when rank 1 is stopped, what gorun
// inspect shows of the job.
func halted(t *testing.T, cmd *exec.Cmd) (job, shown string) {
	t.Helper()
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	job, err = bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	job = strings.TrimSpace(job)
	require.Eventually(t, func() bool {
		shown = finish(t, nil, testbed.Gorun(t), "inspect", job).out
		return strings.Contains(shown, "no answer from rank 1\n") && strings.Contains(shown, "receive, tag 9, 64 bytes, world: begun")
	}, time.Minute, 10*time.Millisecond, "%s", shown)
	return job, shown
}

// TestLastOperationsOnHosts: gorun also shows the last operations of ranks on other hosts. It gets
// them from an agent that gorun has started and from an agent that another agent has started.
func TestLastOperationsOnHosts(t *testing.T) {
	near := filepath.Join(t.TempDir(), "rsh") // starts an agent that acts as another node on this machine
	require.NoError(t, os.WriteFile(near, []byte("#!/bin/sh\nexport GORUN_HOSTID=$1; shift\nexec \"$@\"\n"), 0o755))
	for radix, rsh := range map[string]func() string{
		"1000": func() string { return nscluster.Start(t, 2).Rsh() },
		"1":    func() string { return near },
	} {
		t.Run("radix "+radix, func(t *testing.T) {
			env := []string{"GORUN_RADIX=" + radix}
			self, err := os.Executable()
			require.NoError(t, err)
			flags := []string{"-np", "2", "-host", "h0,h1", "-rsh", rsh(), "-on-deadlock", "ignore", "-x"}
			r := finish(t, env, append(append([]string{testbed.Gorun(t)}, flags...), envProgram+"=record", self)...)
			require.Equal(t, 137, r.code, r.errors)
			require.Regexp(t, `(?m)^gorun: its last operations:\n(gorun:   \|.*\n)*gorun:   \| receive, tag 9, 64 bytes, world: begun for \S+$`, r.errors)

			cmd := exec.CommandContext(deadline(t), testbed.Gorun(t), append(flags, envProgram+"=halt", self)...)
			cmd.Env = append(os.Environ(), env...)
			job, shown := halted(t, cmd)
			require.Regexp(t, stoppedSentence, shown)
			last := finish(t, nil, testbed.Gorun(t), "inspect", "-last", "1", job)
			require.Zero(t, last.code, last.errors)
			require.Regexp(t, `^rank 1: 3 operations, the newest last\n +ago .*\n.* done +0 +5 .*\n.* done +0 +6 +8 .*\n.* begun +any +9 +64 +world +receive`, last.out)
			var log struct {
				Rank     int
				Messages []struct{ Op, State string }
			}
			require.NoError(t, json.Unmarshal([]byte(finish(t, nil, testbed.Gorun(t), "inspect", "-json", "-last=1", job).out), &log))
			require.Equal(t, 1, log.Rank)
			require.Len(t, log.Messages, 3)
			require.Equal(t, "begun", log.Messages[2].State)
			for _, wrong := range [][]string{{"-last", "2"}, {"-last", "x"}, {"-last"}, {"-last", "1", "-watch"}} {
				require.Equal(t, 125, finish(t, nil, append(append([]string{testbed.Gorun(t), "inspect"}, wrong...), job)...).code, "%v", wrong)
			}
			require.NoError(t, cmd.Process.Kill())
			require.Error(t, cmd.Wait())
		})
	}
}

func init() {
	programs["halt later"] = func() { runtime.Main(stopInGenerationOne) }
}

// stopInGenerationOne kills rank 0 in the first generation. In the next one, it stops rank 1, which has survived.
func stopInGenerationOne(w *runtime.World) error {
	return w.Resume(func(w *runtime.World) error {
		if w.Generation() > 0 {
			return stopOnRecord(w)
		}
		if w.Rank() == 0 {
			killMyself()
		}
		_, err := runtime.Recv(w.Comm(), make([]byte, 8), 0, 4)
		return err
	})
}

// After ranks were started again, gorun inspect shows the operations of the new generation, both of a survivor and of
// a rank that was started again.
func TestLastOperationsAfterARespawn(t *testing.T) {
	near := []string{"-host", "h0:2,h1:2", "-map-by", "node", "-rsh", `env GORUN_HOSTID=%h`}
	for name, flags := range map[string][]string{
		"here": {"-spares", "0"}, "here, a spare": {"-spares", "1"}, "hosts": near, "hosts, spares": append(near, "-spares", "1"),
	} {
		t.Run(name, func(t *testing.T) {
			self, err := os.Executable()
			require.NoError(t, err)
			flags = append(flags, "-np", "2", "-on-deadlock", "ignore", "-on-failure", "respawn", "-x", envProgram+"=halt later", self)
			cmd := exec.CommandContext(deadline(t), testbed.Gorun(t), flags...)
			job, _ := halted(t, cmd)
			for rank, want := range []string{`(begun|waiting) +1 +7 `, `begun +any +9 +64 `} {
				last := finish(t, nil, testbed.Gorun(t), "inspect", "-last", fmt.Sprint(rank), job)
				require.Zero(t, last.code, last.errors)
				require.Regexp(t, want, last.out)
			}
			require.NoError(t, cmd.Process.Kill())
			require.Error(t, cmd.Wait())
		})
	}
}
