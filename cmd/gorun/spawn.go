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
	"github.com/gorun-hpc/gorun/cmd/gorun/internal/placement"
)

// spawnersMax bounds the threads that start ranks. The parent's thread sleeps
// in vfork until the child's exec, so a few threads keep all processors busy. A thread costs as
// much as half the start of a rank, and has some to start.
const (
	spawnersMax     = 4
	ranksPerSpawner = 4
)

// Descriptors of a rank beyond the standard three.
const (
	rankSocketFD = 3 + iota
	rankMemoryFD
	rankSecretFD
)

// spawner starts the ranks of a node.
type spawner struct {
	node     *node
	wires    *wiring
	environ  []string // of every rank
	memory   *os.File
	shelf    *bootstrap.Shelf // part of it, for as long as the process lives
	secret   *os.File
	null     *os.File
	describe bootstrap.Job // what all ranks have in common
	// generations is how many the job may have.
	generations int
	// spares wait for the place of a rank.
	spares []*rank
	orders chan func() // to the thread of onThread, nil before the first
}

// wiring says where the streams and the bootstrap sockets of a node's ranks
// lead to. Its functions are called from several goroutines.
type wiring struct {
	// input returns what a rank reads, nil for nothing, and whether it is the
	// spawner's to close after the start.
	input func(r *rank) (f *os.File, owned bool, err error)
	// stdout is the standard output of all ranks, nil for a pipe each.
	stdout *os.File
	// merge joins standard error to standard output.
	merge bool
	// output takes over the reading end of a pipe of a rank.
	output func(r *rank, which stream, fd int) error
	// serve reads a rank's socket to its end and closes r.served.
	serve func(r *rank)
}

// newSpawner makes what the ranks of a node share. common is what is the same
// for all ranks of the world, generations how many the job may have.
func newSpawner(n *node, common bootstrap.Job, generations int, secret [32]byte, environ []string, w *wiring) (*spawner, error) {
	s := &spawner{node: n, wires: w, environ: append(environ, agentVariable(n.id)), describe: common, generations: generations}
	var err error
	if len(n.ranks) > 0 { // else they may come in a later generation
		err = n.bindRanks()
	}
	if err == nil {
		err = s.share()
	}
	if err != nil {
		return nil, err
	}
	if s.secret, err = bootstrap.SecretFile(secret); err != nil {
		return nil, err
	}
	if s.null, err = os.OpenFile(os.DevNull, os.O_RDWR, 0); err != nil {
		return nil, err
	}
	return s, nil
}

// share makes the node memory of a generation, and describes the node. Without ranks it makes none.
func (s *spawner) share() (err error) {
	ranks := s.node.ranks
	s.describe.LocalSize, s.describe.Processors, s.describe.Peers = len(ranks), len(s.node.cpus), nil
	if s.describe.Nodes > 1 {
		for _, r := range ranks {
			s.describe.Peers = append(s.describe.Peers, r.number)
		}
	}
	if len(ranks) > 0 {
		s.memory, s.describe.NodeRange, s.shelf, err = bootstrap.SharedMemory(len(ranks), s.describe.Size, s.generations)
	}
	return err
}

// close closes the descriptors that only the ranks need.
func (s *spawner) close() error {
	return errors.Join(s.unshare(), s.secret.Close(), s.null.Close())
}

// unshare closes the node memory, which the ranks of a generation have.
func (s *spawner) unshare() error {
	memory := s.memory
	if s.memory = nil; memory == nil {
		return nil
	}
	return memory.Close()
}

// rankEnviron returns what ranks get of an environment: all but the identity of
// a rank, which the process itself may have.
func rankEnviron(own []string) []string {
	identity := append(bootstrap.Job{}.Environ(), bootstrap.EnvFDs+"=", envAgent+"=")
	env := make([]string, 0, len(own)+8)
	for _, v := range own {
		name, _, _ := strings.Cut(v, "=")
		if !slices.ContainsFunc(identity, func(i string) bool { return strings.HasPrefix(i, name+"=") }) {
			env = append(env, v)
		}
	}
	return env
}

// start starts all ranks. Ranks that started before an error are left to the
// caller.
func (s *spawner) start() error {
	var next atomic.Int64
	var failed atomic.Bool
	workers := min((len(s.node.ranks)+ranksPerSpawner-1)/ranksPerSpawner, spawnersMax, max(1, len(s.node.cpus)))
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
				if i >= len(s.node.ranks) {
					break
				}
				if errs[w] = s.startRank(s.node.ranks[i]); errs[w] != nil {
					failed.Store(true)
				}
			}
			if s.node.bind != placement.None {
				errs[w] = errors.Join(errs[w], bindThread(s.node.cpus), preferMemory(-1))
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
	if s.node.bind != placement.None {
		if err := errors.Join(bindThread(r.cpus), preferMemory(r.place.Node)); err != nil {
			return err
		}
	}
	sys := &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	s.node.contain.prepare(sys)
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
	s.mapRecord(r)
	r.served = make(chan struct{})
	go s.wires.serve(r)
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

// jobOf returns the identity of a rank.
func (s *spawner) jobOf(r *rank) bootstrap.Job {
	j := s.describe
	if r.number == noRank { // which Join replaces
		j.Rank, j.LocalRank, j.LocalSize, j.NodeRank, j.Nodes, j.Peers = 0, 0, 1, 0, 1, nil
		return j
	}
	j.Rank, j.LocalRank, j.Epoch = r.number, r.local, r.epoch
	return j
}

// rankEnv returns the environment of one rank.
func (s *spawner) rankEnv(r *rank) []string {
	me := s.jobOf(r)
	env := make([]string, 0, len(s.environ)+len(r.app.env)+20)
	env = append(env, s.environ...)
	env = append(env, r.app.env...)
	if r.app.wdir != "" {
		if dir, err := filepath.Abs(r.app.wdir); err == nil {
			env = append(env, "PWD="+dir)
		}
	}
	if !slices.ContainsFunc(env, func(v string) bool { return strings.HasPrefix(v, "GOMAXPROCS=") }) {
		env = append(env, "GOMAXPROCS="+strconv.Itoa(r.place.Share))
	}
	env = append(env, me.Environ()...)
	if r.number == noRank {
		env = append(env, bootstrap.EnvSpare+"=1")
	}
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

// rankFiles makes the descriptors of a rank and passes gorun's ends to the functions that
// serve them.
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
	in, owned, err := s.wires.input(r)
	switch {
	case err != nil:
		return nil, err
	case in == nil:
		return s.null, nil
	case owned:
		f.owned = append(f.owned, in)
	}
	return in, nil
}

// outputOf returns the standard output and error of a rank.
func (s *spawner) outputOf(r *rank, f *rankFiles) (stdout, stderr *os.File, err error) {
	if stdout = s.wires.stdout; stdout == nil {
		if stdout, err = s.outputPipe(r, streamOut, f); err != nil {
			return nil, nil, err
		}
	}
	if s.wires.merge {
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
	// Non-blocking: its reader serves other pipes, too.
	if err := unix.SetNonblock(p[0], true); err != nil {
		return nil, fmt.Errorf("output pipe: %w", err)
	}
	return write, s.wires.output(r, which, p[0])
}
