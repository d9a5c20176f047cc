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

// spawnersMax bounds the threads that start ranks. The parent's thread sleeps in vfork until the child's
// exec. Therefore several threads are necessary to keep all processors busy. Creating a thread costs half as
// much as starting a rank. For this reason, gorun creates one thread for every ranksPerSpawner ranks.
const (
	spawnersMax     = 4
	ranksPerSpawner = 4
)

// Numbers of the descriptors that a rank inherits after the three standard descriptors.
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
	shelf    *bootstrap.Shelf // the book's part of the node memory, open until its generation or this process ends
	secret   *os.File
	null     *os.File
	describe bootstrap.Job // values that all ranks have in common
	// generations is the maximum number of generations of the job.
	generations int
	// spares are the processes that wait to become a rank.
	spares []*rank
	orders chan func() // functions for the thread of onThread; nil before its first use
}

// wiring connects the streams and the bootstrap sockets of a node's ranks. Its functions are called
// from several goroutines.
type wiring struct {
	// input returns the file that a rank reads, or nil for an empty input. If owned is true, the spawner has to
	// close the file after the start.
	input func(r *rank) (f *os.File, owned bool, err error)
	// stdout is the standard output of all ranks, or nil if each rank gets a pipe.
	stdout *os.File
	// merge joins standard error to standard output.
	merge bool
	// output takes ownership of the reading end of a rank's output pipe.
	output func(r *rank, which stream, fd int) error
	// serve reads a rank's socket to its end and closes r.served.
	serve func(r *rank)
}

// newSpawner makes the resources that the ranks of a node share. common holds the values that are the same for
// all ranks of the world. generations is the maximum number of generations of the job.
func newSpawner(n *node, common bootstrap.Job, generations int, secret [32]byte, environ []string, w *wiring) (*spawner, error) {
	s := &spawner{node: n, wires: w, environ: append(environ, agentVariable(n.id)), describe: common, generations: generations}
	err := n.bindRanks()
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

// share makes the node memory of a generation, and describes the node. If the node has no ranks, share makes
// no node memory.
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

// close closes the descriptors that only the ranks use.
func (s *spawner) close() error {
	return errors.Join(s.unshare(), s.secret.Close(), s.null.Close())
}

// unshare closes the descriptor of the node memory. The ranks of the generation have inherited this descriptor
// or get a duplicate of it.
func (s *spawner) unshare() error {
	memory := s.memory
	if s.memory = nil; memory == nil {
		return nil
	}
	return memory.Close()
}

// rankEnviron returns the part of an environment that ranks inherit. It leaves out the variables with the
// identity of a rank, which this process has if it is a rank or a spare itself.
func rankEnviron(own []string) []string {
	identity := append(bootstrap.Job{}.Environ(), bootstrap.EnvFDs+"=", bootstrap.EnvSpare+"=", envAgent+"=")
	env := make([]string, 0, len(own)+8)
	for _, v := range own {
		name, _, _ := strings.Cut(v, "=")
		if !slices.ContainsFunc(identity, func(i string) bool { return strings.HasPrefix(i, name+"=") }) {
			env = append(env, v)
		}
	}
	return env
}

// start starts all ranks. If it returns an error, the caller has to end the ranks that were started
// before.
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
				r := s.node.ranks[i]
				if errs[w] = s.startRank(r); errs[w] == nil {
					errs[w] = s.present(r)
				}
				if errs[w] != nil {
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
	err := errors.Join(errs...)
	if err == nil {
		s.mapRecords()
	}
	return err
}

// startRank starts one rank or spare on the calling thread. The caller then calls present, for a spare only when it
// becomes a rank. After an error of startRank, no descriptor of the process is open.
func (s *spawner) startRank(r *rank) (err error) {
	pipes := &rankFiles{}
	defer pipes.closeChild()
	defer func() {
		if err != nil {
			r.closeEnds()
		}
	}()
	if err := s.rankFiles(r, pipes); err != nil {
		return err
	}
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
	r.pid, r.child = pid, pid
	if n, inside := s.node.contain.(namespace); inside {
		r.pid = n.shownPID(pid)
	}
	r.served = make(chan struct{})
	return nil
}

// present passes the socket and the output pipes of a rank to the functions of wiring. The rank's process must
// have been started, because tags contain the process ID.
func (s *spawner) present(r *rank) error {
	go s.wires.serve(r)
	held := r.held
	r.held = nil
	for _, p := range held {
		if err := s.wires.output(r, p.which, p.fd); err != nil {
			return err
		}
	}
	return nil
}

// jobOf returns the identity of a rank.
func (s *spawner) jobOf(r *rank) bootstrap.Job {
	j := s.describe
	if r.number == noRank { // Join replaces these values
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

// lastWins removes variables that are set again later in env. If a variable is set several times, getenv(3)
// returns the first value, but a later -x must override an earlier value.
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

// rankFiles holds the descriptors that a rank inherits.
type rankFiles struct {
	child []*os.File // in the order of the descriptor numbers in the child
	owned []*os.File // the subset of child that gorun closes after the start
}

func (f *rankFiles) closeChild() {
	for _, c := range f.owned {
		_ = c.Close()
	}
}

// rankFiles makes the descriptors of a rank, and stores them in f. It stores gorun's ends of the output pipes and
// the socket in r. After an error, f and r have the descriptors that were made before it.
func (s *spawner) rankFiles(r *rank, f *rankFiles) error {
	stdin, err := s.stdinOf(r, f)
	if err != nil {
		return err
	}
	stdout, stderr, err := s.outputOf(r, f)
	if err != nil {
		return err
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("socketpair: %w", err)
	}
	socket := os.NewFile(uintptr(pair[1]), "rank")
	f.owned = append(f.owned, socket)
	// gorun's end of the socket is nonblocking so that Go's network poller serves it.
	if err := unix.SetNonblock(pair[0], true); err != nil {
		_ = unix.Close(pair[0])
		return fmt.Errorf("socket: %w", err)
	}
	r.conn = os.NewFile(uintptr(pair[0]), "gorun")
	f.child = []*os.File{stdin, stdout, stderr, socket, s.memory, s.secret}
	return nil
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
	r.held = append(r.held, heldPipe{which, p[0]})
	// The reading end is nonblocking, because output reads many pipes in one goroutine, and forwarder sets deadlines.
	if err := unix.SetNonblock(p[0], true); err != nil {
		return nil, fmt.Errorf("output pipe: %w", err)
	}
	return write, nil
}
