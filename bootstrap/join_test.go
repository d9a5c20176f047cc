//go:build !portable

package bootstrap_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/bootstrap"
)

// helperEnv is the variable that makes the test binary run as a rank that prints the result of Join.
const helperEnv = "BOOTSTRAP_TEST_RANK"

// joined is the result that the helper prints as JSON.
type joined struct {
	Err     string
	Job     bootstrap.Job
	Secret  [32]byte
	Memory  int64
	Cards   int
	CloExec []bool
	FDsLeft string
	Secrets int  // number of open descriptors of the secret
	Foreign bool // whether a child of the rank would try to join another launcher's job as a rank
}

func TestMain(m *testing.M) {
	if text := os.Getenv(limitEnv); text != "" {
		limitedMain(text)
		return
	}
	if os.Getenv(shmEnv) != "" {
		ownShmMain()
		return
	}
	if os.Getenv(helperEnv) != "" {
		if err := json.NewEncoder(os.Stdout).Encode(rankMain()); err != nil {
			panic(err)
		}
		return
	}
	// The compressor creates its channels at its first use. If the first use were in a bubble of synctest,
	// the channels would belong to the bubble and could not be used outside of it.
	if _, err := bootstrap.PackCards(nil); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

func rankMain() joined {
	s, err := bootstrap.Join()
	if err != nil {
		return joined{Err: err.Error()}
	}
	out := joined{Job: s.Job(), Secret: s.Secret(), FDsLeft: os.Getenv(bootstrap.EnvFDs)}
	if s.Memory() != nil {
		st, err := s.Memory().Stat()
		if err != nil {
			return joined{Err: err.Error()}
		}
		out.Memory = st.Size()
	}
	for fd := range 6 {
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		out.CloExec = append(out.CloExec, err == nil && flags&unix.FD_CLOEXEC != 0)
	}
	_, out.Foreign = bootstrap.FindForeign(os.Getenv)
	links, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		return joined{Err: err.Error()}
	}
	for _, name := range links {
		if to, err := os.Readlink(name); err == nil && strings.Contains(to, "gorun-secret") {
			out.Secrets++
		}
	}
	b, err := s.Exchange(context.Background(), s.Card())
	if err != nil {
		return joined{Err: err.Error()}
	}
	out.Cards = b.Size()
	if victim := os.Getenv(diesEnv); victim != "" {
		if victim == strconv.Itoa(s.Job().Rank) {
			os.Exit(3)
		}
		if victim == "abort "+strconv.Itoa(s.Job().Rank) {
			s.Abort(3, "test")
			os.Exit(3)
		}
		if victim == "nobody" {
			fmt.Fprintln(os.Stderr, "met")
			<-time.After(time.Minute) // no fence: a fence would end before the process notices the launcher's end
			return joined{Err: "nothing has ended this process"}
		}
		return joined{Err: fmt.Sprint(s.Fence(context.Background()))}
	}
	if err := s.Finalize(); err != nil {
		return joined{Err: err.Error()}
	}
	return out
}

// runRank runs the helper with the given variables and inherited files, and returns what it prints.
func runRank(t *testing.T, env []string, files ...*os.File) joined {
	t.Helper()
	exe, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(exe)
	cmd.Env = append(append(os.Environ(), helperEnv+"=1", "GORACE=atexit_sleep_ms=0"), env...)
	cmd.ExtraFiles = files
	cmd.Stderr = os.Stderr
	text, err := cmd.Output()
	require.NoError(t, err)
	var got joined
	require.NoError(t, json.Unmarshal(text, &got), string(text))
	return got
}

// inheritance creates the descriptors that the only rank of a world inherits, and the agent's end of the
// rank's socket.
func inheritance(t *testing.T) (agent, socket, memory, secret *os.File, job bootstrap.Job) {
	t.Helper()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	agent, socket = os.NewFile(uintptr(pair[0]), "agent"), os.NewFile(uintptr(pair[1]), "rank")
	memory, each, err := bootstrap.NodeMemory(1)
	require.NoError(t, err)
	secret, err = bootstrap.SecretFile([32]byte{1, 2, 3})
	require.NoError(t, err)
	t.Cleanup(func() {
		for _, f := range []*os.File{agent, socket, memory, secret} {
			_ = f.Close()
		}
	})
	return agent, socket, memory, secret, bootstrap.Job{
		Size: 1, LocalSize: 1, Nodes: 1, ID: "j", Processors: 1, OnFailure: bootstrap.OnFailureKill, NodeRange: each,
	}
}

// A rank that gorun has started takes its job, secret and memory from its agent, even within a step of Slurm.
// Its child processes do not inherit the descriptors, and inherit no variables that make them ranks.
func TestJoinWithAgent(t *testing.T) {
	agent, socket, memory, secret, job := inheritance(t)
	served := make(chan error, 1)
	server := bootstrap.NewServer(1, func(bootstrap.Event) {})
	go func() { served <- server.Serve(0, agent) }()
	step := []string{"SLURM_PROCID=1", "SLURM_STEP_NUM_TASKS=2", "SLURM_JOB_ID=3", "SLURM_STEP_ID=0", "PMI_RANK=1", "PMI_SIZE=2", "PMI_FD=9"}
	got := runRank(t, slices.Concat(job.Environ(), step, []string{bootstrap.EnvFDs + "=3,4,5"}), socket, memory, secret)
	require.NoError(t, socket.Close())
	require.NoError(t, <-served)
	require.Equal(t, bootstrap.RankFinalized, server.State(0))
	require.Empty(t, got.Err)
	require.Equal(t, job, got.Job)
	require.Equal(t, [32]byte{1, 2, 3}, got.Secret)
	require.Equal(t, job.NodeRange, got.Memory)
	require.Equal(t, 1, got.Cards)
	require.Empty(t, got.FDsLeft, "children of the rank must not take themselves for ranks")
	require.False(t, got.Foreign, "children of the rank must not take themselves for ranks of the launcher that started gorun")
	require.Equal(t, []bool{true, true}, got.CloExec[3:5])
	require.Zero(t, got.Secrets, "the rank must have no open descriptor of the secret")
}

// A process that no launcher has started is the only rank of a world of its own.
func TestJoinAlone(t *testing.T) {
	got := runRank(t, nil)
	require.Empty(t, got.Err)
	require.Equal(t, 1, got.Job.Size)
	require.Zero(t, got.Job.Rank)
	require.Positive(t, got.Job.Processors)
	require.NotZero(t, got.Secret)
	require.Equal(t, 1, got.Cards)
	node, err := bootstrap.ThisNode()
	require.NoError(t, err)
	require.Equal(t, node, got.Job.Node)
}

// Join returns an error that names the cause if the descriptors or variables that a rank inherits
// are missing or wrong.
func TestJoinErrors(t *testing.T) {
	_, socket, memory, secret, job := inheritance(t)
	short, err := os.Open(os.DevNull)
	require.NoError(t, err)
	defer func() { require.NoError(t, short.Close()) }()
	fds := bootstrap.EnvFDs + "=3,4,5"
	for name, c := range map[string]struct {
		env   []string
		files []*os.File
		want  string
	}{
		"descriptors are closed":    {append(job.Environ(), bootstrap.EnvFDs+"=30,40,50"), nil, "did not reach this process"},
		"descriptors make no sense": {append(job.Environ(), bootstrap.EnvFDs+"=0,1,2"), nil, "three descriptor numbers"},
		"no identity":               {[]string{fds}, []*os.File{socket, memory, secret}, "GORUN_SIZE"},
		"no secret":                 {append(job.Environ(), fds), []*os.File{socket, memory, short}, "job secret of 0 bytes"},
		"no memory":                 {append(job.Environ(), fds), []*os.File{socket, short, secret}, "node memory"},
		"memory can shrink":         {append(job.Environ(), fds), []*os.File{socket, unsealed(t, job.NodeRange), secret}, "not sealed"},
		"memory for one of two ranks": {
			append(job.Environ(), fds, bootstrap.EnvLocalSize+"=2", bootstrap.EnvSize+"=2"),
			[]*os.File{socket, memory, secret},
			"node memory",
		},
		"memory is too small": {
			append(job.Environ(), fds, fmt.Sprintf("%s=%d", bootstrap.EnvNodeRange, job.NodeRange*2)),
			[]*os.File{socket, memory, secret},
			"node memory",
		},
	} {
		require.Contains(t, runRank(t, c.env, c.files...).Err, c.want, name)
	}
}

func unsealed(t *testing.T, size int64) *os.File {
	t.Helper()
	fd, err := unix.MemfdCreate("unsealed", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	require.NoError(t, err)
	f := os.NewFile(uintptr(fd), "unsealed")
	t.Cleanup(func() { require.NoError(t, f.Close()) })
	require.NoError(t, f.Truncate(size))
	return f
}
