package inspection_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/bootstrap"
	"github.com/gorun-hpc/gorun/cmd/gorun/internal/inspection"
)

// name returns a job name that no other test uses.
func name(t *testing.T) string {
	t.Helper()
	return fmt.Sprintf("%s-%d", t.Name(), os.Getpid())
}

// opened starts a server for a job, checks that the job is listed, and connects to it.
func opened(t *testing.T, report func(int) *inspection.Report) (*inspection.Server, *inspection.Client) {
	t.Helper()
	s, err := inspection.Listen(name(t), report)
	require.NoError(t, err)
	jobs, err := inspection.Jobs()
	require.NoError(t, err)
	require.Contains(t, jobs, name(t))
	c, err := inspection.Dial(name(t))
	require.NoError(t, err)
	return s, c
}

// A client gets a new report for each request, and ErrNoJob after the end of the job.
func TestReportsUntilTheEndOfTheJob(t *testing.T) {
	var asked atomic.Int32
	s, c := opened(t, func(int) *inspection.Report {
		n := int(asked.Add(1))
		if n > 2 {
			return nil // the job has ended
		}
		return &inspection.Report{Job: "a", Ranks: n, Started: time.Unix(1, 0).UTC(), Doing: []bootstrap.Doing{{Rank: 1, Size: 2}}}
	})
	for n := 1; n <= 2; n++ {
		r, err := c.Report(-1)
		require.NoError(t, err)
		require.Equal(t, &inspection.Report{Job: "a", Ranks: n, Started: time.Unix(1, 0).UTC(), Doing: []bootstrap.Doing{{Rank: 1, Size: 2}}}, r)
	}
	for range 2 {
		_, err := c.Report(-1)
		require.ErrorIs(t, err, inspection.ErrNoJob)
	}
	require.NoError(t, c.Close())
	require.NoError(t, s.Close())
	_, err := inspection.Dial(name(t))
	require.ErrorIs(t, err, inspection.ErrNoJob)
}

// One server at a time can use a job name. After that server was closed, another server can use the name.
func TestOneServerPerName(t *testing.T) {
	none := func(int) *inspection.Report { return nil }
	s, err := inspection.Listen(name(t), none)
	require.NoError(t, err)
	_, err = inspection.Listen(name(t), none)
	require.Error(t, err)
	require.NoError(t, s.Close())
	s, err = inspection.Listen(name(t), none)
	require.NoError(t, err)
	require.NoError(t, s.Close())
}

// Report.Text has at most 40 lines. First comes the job, then the summary with ranks that do not run, and
// then the ranks.
func TestText(t *testing.T) {
	r := inspection.Report{
		Job: "7-ab", Command: []string{"gorun", "-np", "3", "./prog"}, Host: "h", Started: time.Unix(0, 0), Now: time.Unix(61, 0),
		Ranks: 3, Joined: 3, Silent: []int{2},
		Doing: []bootstrap.Doing{
			{Rank: 0, Size: 3, Process: 8, Waits: []bootstrap.Wait{{Op: "receive", What: "rank 1, tag 7", Among: "1", Seconds: 2, Line: "a.go:3"}}},
			{Rank: 1, Size: 3, Process: 9, Quiet: 2, Line: "b.go:4", Function: "main.f"},
		},
	}
	require.Equal(t, `job 7-ab on h for 1m1s: gorun -np 3 ./prog
3 ranks, 3 of them joined, 0 ended
rank 0 waits at a.go:3 for rank 1; rank 1 has not called gorun for 2s and is at b.go:4 (main.f): look there
no answer from rank 2
rank 0 of 3, process 8: waits in 1 operation
  receive, rank 1, tag 7, 2s, at a.go:3
rank 1 of 3, process 9: waits for no message, at b.go:4 (main.f)
`, r.Text())
	for _, c := range []struct{ state, want string }{
		{"T", "rank 2 is stopped by a signal: kill -CONT 10 on host x continues it"},
		{"t", "rank 2 is stopped in a debugger (pid 10 on host x)"},
		{"D", "rank 2 waits in the kernel, as for a file system that does not answer (pid 10 on host x)"},
	} {
		r.Halted = []inspection.Halted{{Rank: 2, PID: 10, Host: "x", State: c.state}}
		require.Equal(t, "rank 0 waits at a.go:3 for rank 1; rank 1 has not called gorun for 2s and is at b.go:4 (main.f): look there; "+c.want,
			strings.Split(r.Text(), "\n")[2])
	}
	r.Halted = append(r.Halted, r.Halted...)
	r.Halted = append(r.Halted, r.Halted...)
	r.Halted = append(r.Halted, r.Halted...)
	require.True(t, strings.HasSuffix(strings.Split(r.Text(), "\n")[2], "; and 4 more ranks do not run"))
	r.Halted = nil
	r.Doing[0].In = []string{"world, barrier, call 3, at a.go:3"}
	require.Equal(t, "world: rank 0 in call 3, barrier at a.go:3; rank 1 in none", strings.Split(r.Text(), "\n")[4])
	for rank := range 100 {
		r.Doing = append(r.Doing, bootstrap.Doing{Rank: rank, Size: 100, Notes: []string{fmt.Sprint("note ", rank)}, Waits: []bootstrap.Wait{{Op: fmt.Sprint(rank)}}})
	}
	lines := strings.Split(strings.TrimRight(r.Text(), "\n"), "\n")
	require.Len(t, lines, 40)
	require.Regexp(t, `^\.\.\. and \d+ more lines`, lines[39])
}

// A server that could not accept a client for lack of descriptors accepts clients again later.
func TestServerOutlivesALackOfDescriptors(t *testing.T) {
	s, c := opened(t, func(int) *inspection.Report { return &inspection.Report{Job: "a"} })
	require.NoError(t, c.Close())
	directory := inspection.Directories()[0]
	sockets, err := filepath.Glob(filepath.Join(directory, name(t)+".*"))
	require.NoError(t, err)
	require.Len(t, sockets, 1)
	waiting, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	defer func() { require.NoError(t, unix.Close(waiting)) }()
	var limit unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &limit))
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 0, Max: limit.Max}))
	err = unix.Connect(waiting, &unix.SockaddrUnix{Name: sockets[0]})
	time.Sleep(100 * time.Millisecond) // the server tries to accept the client; nothing shows that it has failed
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &limit))
	require.NoError(t, err)
	c, err = inspection.Dial(name(t))
	require.NoError(t, err)
	r, err := c.Report(-1)
	require.NoError(t, err)
	require.Equal(t, "a", r.Job)
	require.NoError(t, c.Close())
	require.NoError(t, s.Close())
}
