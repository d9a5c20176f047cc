package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/bootstrap"
)

// spawnersMax bounds the threads that start ranks. The parent's thread sleeps
// in vfork until the child's exec, so a few threads keep all processors busy.
const spawnersMax = 4

// Descriptors of a rank beyond the standard three.
const (
	rankSocketFD = 3 + iota
	rankMemoryFD
	rankSecretFD
)

// spawner starts the ranks of a job.
type spawner struct {
	job      *job
	environ  []string // of every rank
	memory   *os.File
	secret   *os.File
	null     *os.File
	inherit  *os.File      // stdin of rank 0 when it needs no copying, or nil
	describe bootstrap.Job // what all ranks have in common
}

// newSpawner makes what all ranks share.
func newSpawner(j *job) (*spawner, error) {
	s := &spawner{job: j, environ: rankEnviron(os.Environ(), j.opts.explain)}
	node, err := bootstrap.ThisNode()
	if err != nil {
		return nil, err
	}
	memory, rangeBytes, err := bootstrap.NodeMemory(len(j.ranks))
	if err != nil {
		return nil, err
	}
	secret, err := bootstrap.NewSecret()
	if err != nil {
		return nil, err
	}
	if s.secret, err = bootstrap.SecretFile(secret); err != nil {
		return nil, err
	}
	if s.null, err = os.OpenFile(os.DevNull, os.O_RDWR, 0); err != nil {
		return nil, err
	}
	s.memory = memory
	s.describe = bootstrap.Job{
		Size: len(j.ranks), LocalSize: len(j.ranks), Nodes: 1, ID: j.id, Node: node,
		Processors: len(j.cpus), OnFailure: j.opts.onFailure, NodeRange: rangeBytes,
	}
	return s, nil
}

// close gives up the descriptors that only the ranks need.
func (s *spawner) close() error {
	return errors.Join(s.memory.Close(), s.secret.Close(), s.null.Close())
}

// rankEnviron returns the environment that all ranks share: that of gorun
// without the identity of a rank, which gorun itself may have.
func rankEnviron(own []string, explain bool) []string {
	identity := bootstrap.Job{}.Environ()
	names := make([]string, 0, len(identity)+1)
	for _, v := range identity {
		name, _, _ := strings.Cut(v, "=")
		names = append(names, name)
	}
	names = append(names, bootstrap.EnvFDs)
	env := make([]string, 0, len(own)+1)
	for _, v := range own {
		if name, _, _ := strings.Cut(v, "="); !slices.Contains(names, name) {
			env = append(env, v)
		}
	}
	if explain {
		env = append(env, "GORUN_EXPLAIN=1")
	}
	return env
}

// start starts all ranks. Ranks that started before an error are left to the
// caller.
func (s *spawner) start() error {
	var next atomic.Int64
	var failed atomic.Bool
	workers := min(len(s.job.ranks), spawnersMax, max(1, len(s.job.cpus)))
	errs := make([]error, workers)
	var wait sync.WaitGroup
	for w := range workers {
		wait.Add(1)
		go func() {
			// The thread must live as long as gorun: ranks get
			// their death signal when the thread that started
			// them ends (prctl(2), PR_SET_PDEATHSIG).
			goruntime.LockOSThread()
			for !failed.Load() {
				i := int(next.Add(1)) - 1
				if i >= len(s.job.ranks) {
					break
				}
				if errs[w] = s.startRank(s.job.ranks[i]); errs[w] != nil {
					failed.Store(true)
				}
			}
			if s.job.opts.bindTo == bindCore {
				errs[w] = errors.Join(errs[w], bindThread(s.job.cpus))
			}
			wait.Done()
			select {}
		}()
	}
	wait.Wait()
	return errors.Join(errs...)
}

// startRank starts one rank on the calling thread.
func (s *spawner) startRank(r *rank) error {
	pipes, err := s.rankFiles(r)
	if err != nil {
		return err
	}
	defer pipes.closeChild()
	if s.job.opts.bindTo == bindCore {
		if err := bindThread(r.cpus); err != nil {
			return err
		}
	}
	sys := &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	s.job.contain.prepare(sys)
	files := make([]uintptr, 0, len(pipes.child))
	for _, f := range pipes.child {
		files = append(files, f.Fd())
	}
	r.started = time.Now()
	argv := append([]string{r.app.program}, r.app.args...)
	pid, err := syscall.ForkExec(r.path, argv, &syscall.ProcAttr{Dir: r.app.wdir, Env: s.rankEnv(r), Files: files, Sys: sys})
	if err != nil {
		return startError(r, err)
	}
	r.pid = pid
	r.served = make(chan struct{})
	go s.job.serve(r)
	return nil
}

// startError gives an error of exec its exit code.
func startError(r *rank, err error) error {
	switch {
	case errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR):
		return exitErrorf(exitNotFound, "start %s: %w (the file, or the interpreter it names)", r.path, err)
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.ENOEXEC), errors.Is(err, unix.EPERM),
		errors.Is(err, unix.ETXTBSY), errors.Is(err, unix.ELIBBAD), errors.Is(err, unix.EINVAL):
		return exitErrorf(exitNotExecuted, "start %s: %w", r.path, err)
	default:
		return fmt.Errorf("start rank %d (%s): %w", r.number, r.path, err)
	}
}

// rankEnv returns the environment of one rank.
func (s *spawner) rankEnv(r *rank) []string {
	me := s.describe
	me.Rank, me.LocalRank = r.number, r.number
	env := make([]string, 0, len(s.environ)+len(r.app.env)+20)
	env = append(env, s.environ...)
	env = append(env, r.app.env...)
	if r.app.wdir != "" {
		if dir, err := filepath.Abs(r.app.wdir); err == nil {
			env = append(env, "PWD="+dir)
		}
	}
	if !slices.ContainsFunc(env, func(v string) bool { return strings.HasPrefix(v, "GOMAXPROCS=") }) {
		share := max(1, len(s.job.cpus)/len(s.job.ranks))
		env = append(env, "GOMAXPROCS="+strconv.Itoa(min(share, len(r.cpus))))
	}
	env = append(env, me.Environ()...)
	return lastWins(append(env, fmt.Sprintf("%s=%d,%d,%d", bootstrap.EnvFDs, rankSocketFD, rankMemoryFD, rankSecretFD)))
}

// lastWins removes variables that are set again later. getenv(3) takes the
// first of several, which is not what -x means.
func lastWins(env []string) []string {
	seen := make(map[string]bool, len(env))
	out := env[:0:0]
	for _, v := range slices.Backward(env) {
		if name, _, _ := strings.Cut(v, "="); !seen[name] {
			seen[name] = true
			out = append(out, v)
		}
	}
	slices.Reverse(out)
	return out
}

// rankFiles are the descriptors of a rank.
type rankFiles struct {
	child []*os.File // in the order of the child's numbers
	owned []*os.File // those of child that gorun closes after the start
}

func (f *rankFiles) closeChild() {
	for _, c := range f.owned {
		_ = c.Close()
	}
}

// rankFiles makes the descriptors of a rank and hands gorun's ends to those
// who serve them.
func (s *spawner) rankFiles(r *rank) (*rankFiles, error) {
	f := &rankFiles{}
	stdin, err := s.stdinOf(r, f)
	if err != nil {
		return nil, err
	}
	stdout, stderr, err := s.outputOf(r, f)
	if err != nil {
		f.closeChild()
		return nil, err
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		f.closeChild()
		return nil, fmt.Errorf("socketpair: %w", err)
	}
	socket := os.NewFile(uintptr(pair[1]), "rank")
	f.owned = append(f.owned, socket)
	// Non-blocking, so that the runtime's poller serves it.
	if err := unix.SetNonblock(pair[0], true); err != nil {
		f.closeChild()
		return nil, fmt.Errorf("socket: %w", err)
	}
	r.conn = os.NewFile(uintptr(pair[0]), "gorun")
	f.child = []*os.File{stdin, stdout, stderr, socket, s.memory, s.secret}
	return f, nil
}

func (s *spawner) stdinOf(r *rank, f *rankFiles) (*os.File, error) {
	if s.inherit != nil && r.number == 0 {
		return s.inherit, nil
	}
	if s.job.stdin == nil || !s.job.stdin.feeds(r.number) {
		return s.null, nil
	}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	f.owned = append(f.owned, read)
	s.job.stdin.add(write)
	return read, nil
}

// outputOf returns the standard output and error of a rank.
func (s *spawner) outputOf(r *rank, f *rankFiles) (stdout, stderr *os.File, err error) {
	if s.job.out.passThrough {
		stdout = os.Stdout
	} else if stdout, err = s.outputPipe(r, streamOut, f); err != nil {
		return nil, nil, err
	}
	if s.job.opts.mergeStderr {
		return stdout, stdout, nil
	}
	stderr, err = s.outputPipe(r, streamErr, f)
	return stdout, stderr, err
}

func (s *spawner) outputPipe(r *rank, which stream, f *rankFiles) (*os.File, error) {
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
		return nil, fmt.Errorf("pipe: %w", err)
	}
	write := os.NewFile(uintptr(p[1]), "output")
	f.owned = append(f.owned, write)
	if err := s.job.out.add(r.number, which, p[0]); err != nil {
		return nil, err
	}
	return write, nil
}
