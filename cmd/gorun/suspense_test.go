package main_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/bootstrap"
)

// endAsNamed is a program in which rank 0 ends and names the loss of rank 1 as the reason. After the parent
// of rank 0 has learned of that end, rank 1 behaves in the way that how selects. Further ranks wait for a
// signal.
func endAsNamed(s *bootstrap.Session, how, file string) int {
	const code = 3
	if err := s.Fence(context.Background()); err != nil {
		panic(err)
	}
	switch s.Job().Rank {
	case 0:
		if err := os.WriteFile(file+".part", []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil {
			panic(err)
		}
		if err := os.Rename(file+".part", file); err != nil {
			panic(err)
		}
		if err := s.Fail(0, 1, "receive: rank 1 is down"); err != nil {
			panic(err)
		}
		return 1
	case 1:
	default:
		select {} // until the rank gets a signal to end
	}
	var other int
	for other == 0 {
		text, err := os.ReadFile(file)
		if errors.Is(err, os.ErrNotExist) {
			time.Sleep(time.Millisecond) // the two ranks share nothing but the file
			continue
		}
		if other, err = strconv.Atoi(string(text)); err != nil {
			panic(err)
		}
	}
	for !errors.Is(unix.Kill(other, 0), unix.ESRCH) {
		time.Sleep(time.Millisecond) // polls, because rank 0 is not a child of this process
	}
	switch how {
	case "is killed":
		_ = unix.Kill(os.Getpid(), unix.SIGKILL)
		select {}
	case "aborts":
		s.Abort(9, "")
	case "leaves":
		return finalize(s, 0)
	case "goes on":
		select {}
	case "names rank 0":
		if err := s.Fail(1, 0, "receive: rank 0 is down"); err != nil {
			panic(err)
		}
	}
	return code
}

// One rank ends and names the loss of another rank as the reason. If the named rank has ended, gorun reports
// its end as the first failure, even if gorun learns of the end of the naming rank first. If the named rank
// lives, or has left the job in order, the end of the naming rank is the first failure.
func TestFirstFailureIsOfTheRankThatIsNamed(t *testing.T) {
	hosts := []string{"-host", "a:2,b:1", "-map-by", "node", "-rsh", rsh(t)}
	for how, want := range map[string]struct {
		code int
		text string
	}{
		"is killed":    {137, `first failure: rank 1 \(.*\) was killed by SIGKILL`},
		"exits":        {3, `first failure: rank 1 \(.*\) exited with code 3`},
		"aborts":       {9, `first failure: rank 1 \(.*\) aborted the job with code 9`},
		"leaves":       {1, `first failure: rank 0 \(.*\) exited with code 1`},
		"goes on":      {1, `first failure: rank 0 \(.*\) exited with code 1`},
		"names rank 0": {1, `first failure: rank 0 \(.*\) exited with code 1`},
	} {
		for where, flags := range map[string][]string{"here": {"-np", "3"}, "on hosts": hosts} {
			if how == "names rank 0" && where == "on hosts" {
				continue // either rank may be the first failure, depending on which end gorun learns of first
			}
			t.Run(fmt.Sprintf("%s %s", how, where), func(t *testing.T) {
				t.Parallel() // the test waits most of the time
				// With containment scan, the ranks of the two hosts can see each other. In PID namespaces of
				// their own, they could not.
				r := command(t, []string{"GORUN_CONTAIN=scan"}, helper(flags, "named", how, filepath.Join(t.TempDir(), "pid"))...)
				require.NoError(t, r.Start())
				require.Equal(t, want.code, r.wait(t), r.err.String())
				require.Regexp(t, want.text, r.err.String())
				require.Contains(t, r.err.String(), "rank 0: receive: rank 1 is down\n")
				gone(t, r)
			})
		}
	}
}
