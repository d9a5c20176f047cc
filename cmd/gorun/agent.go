package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/bootstrap"
	"github.com/gorun-hpc/gorun/cmd/gorun/internal/link"
)

// agentCommand is the argument that makes gorun the node agent of another gorun, the launcher. The launcher
// and the agent communicate through the agent's standard input and output.
const agentCommand = "-gorun-agent"

// agent runs the ranks of a job on this machine for the launcher, which is another gorun. The agent starts,
// signals and kills ranks when the launcher tells it to, and reports what happens. It acts by itself in two cases:
// after a SIGTERM (heedTerm), and when the connection to the launcher is lost. In the second case, it kills its ranks
// and exits.
type agent struct {
	node    *node
	conn    *link.Conn
	probe   *os.File // the file that the field Probe of hello identifies
	hello   link.Hello
	greeted bool
	relay   *bootstrap.Relay // nil until the link.Plan has arrived
	out     *forwarder
	feed    *stdinFeed // nil if no rank of this host gets standard input
	up      *window    // for the frames that the ranks send to the launcher
	inbox   *inbox
	below   *branches
	started chan struct{}
	over    sync.Once     // for the cleanup, after which the process ends
	alone   atomic.Bool   // leave was called: the agent no longer reports ends of ranks
	left    chan struct{} // closed by the first call of leave

	// spawner starts spares, and the ranks of later generations. It is nil if the job does not start ranks again.
	// The launcher's link.Plan determines programs, paths and place. Only the goroutine that executes run writes
	// these four fields.
	spawner  *spawner
	programs []*app
	paths    []string // paths of the executables of programs on this host
	place    int
	ending   atomic.Bool // set before the agent kills the processes of the job at the end of the job; never reset

	mu sync.Mutex // guards node.ranks, and the fields of a rank that change when the rank ends
}

// runAgent is the agent's main function. inside is true if this gorun is process 1 of a PID namespace that
// another gorun has made. scratch is the scratch directory of that other gorun, or the directory that installScript
// has made for this gorun, or "" if there is neither.
func runAgent(scratch string, inside bool) int {
	a := &agent{started: make(chan struct{}), left: make(chan struct{}), out: newForwarder(), up: newWindow()}
	code, err := a.run(scratch, inside)
	if err != nil {
		complain("agent: %v", err)
	}
	return code
}

func (a *agent) run(scratch string, inside bool) (int, error) {
	id := newID()
	contain, err := newContainment(id, inside)
	if err != nil {
		return exitLauncher, err
	}
	if a.node, err = newNode(id, contain); err != nil {
		return exitLauncher, err
	}
	a.node.scratch = scratch
	if err := a.node.guard(false); err != nil {
		return exitLauncher, errors.Join(err, a.node.cleanUp())
	}
	here, code, err := a.node.contained([]string{agentCommand})
	if !here || err != nil {
		return max(code, 0), errors.Join(err, a.node.cleanUp())
	}
	// The agent catches and discards these signals. It does not ignore them, because its ranks would inherit
	// ignored signals. Signals for the job arrive through the connection to the launcher.
	a.heedTerm()
	signal.Notify(make(chan os.Signal, 1), unix.SIGINT, unix.SIGHUP, unix.SIGQUIT, unix.SIGTSTP, unix.SIGPIPE)
	a.node.heeds()
	if err := errors.Join(adopt(), a.connect()); err != nil {
		return exitLauncher, errors.Join(err, a.node.cleanUp())
	}
	a.below = newBranches(a.conn)
	a.inbox = newInbox(scratch, a.conn, a.below)
	stop := a.conn.Watch(link.Silence, func() { a.lost(fmt.Errorf("it has been silent for %v", link.Silence)) })
	defer stop()
	for {
		k, body, err := a.conn.Receive()
		if err == nil && k == link.KindEnd {
			go a.end() // in a goroutine, because end waits for credit that this loop receives
			continue
		}
		if err == nil {
			err = a.obey(k, body)
		}
		if err != nil {
			a.lost(err)
		}
	}
}

// connect makes the connection from standard input and output, and sends the preamble. It replaces
// descriptors 0 and 1 by /dev/null and standard error, so that nothing else uses the connection.
func (a *agent) connect() error {
	var streams [2]*os.File
	for i := range streams {
		fd, err := unix.FcntlInt(uintptr(i), unix.F_DUPFD_CLOEXEC, 3)
		if err != nil {
			return fmt.Errorf("standard input and output: %w", err)
		}
		streams[i] = os.NewFile(uintptr(fd), "gorun")
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	err = errors.Join(unix.Dup3(int(null.Fd()), 0, 0), unix.Dup3(2, 1, 0), null.Close())
	if err != nil {
		return err
	}
	self, err := bootstrap.ThisNode()
	if err != nil {
		return err
	}
	a.hello = link.Hello{Node: self, User: os.Geteuid(), Machine: a.node.machine, Platform: platform()}
	if a.probe, a.hello.Probe, err = newProbe(); err != nil {
		return err
	}
	if _, err := streams[1].Write(link.Preamble(moduleVersion())); err != nil {
		return err
	}
	a.conn = link.NewConn(bufio.NewReader(streams[0]), streams[1])
	a.out.conn = a.conn
	return nil
}

// heedTerm makes the agent pass SIGTERM on to its ranks. With SIGTERM, a scheduler or a container platform asks
// the job to end on this host. Later, the scheduler or the platform kills the processes. In two cases, the agent
// ends instead of passing SIGTERM on: if the ranks have not been started yet, and if the job starts lost ranks
// again. In the second case, the ranks of this host can then be started again on another host without delay.
func (a *agent) heedTerm() {
	terms := make(chan os.Signal, 1)
	signal.Notify(terms, unix.SIGTERM)
	go func() {
		for range terms {
			select {
			case <-a.started:
				if a.spawner != nil {
					a.leave(errors.New("SIGTERM: this host leaves the job"), exitSignalOffset+int(unix.SIGTERM))
				}
				complain("agent: SIGTERM is passed on to the ranks of this host")
				a.mu.Lock()
				for _, r := range a.node.ranks {
					r.signal(unix.SIGTERM)
				}
				a.mu.Unlock()
			default:
				a.leave(errors.New("SIGTERM before the ranks were started"), exitLauncher)
			}
		}
	}()
}

// lost ends the process, because the connection to the launcher is lost. It does not print the loss if the launcher
// has closed the connection, because the reason may be a failure on another host.
func (a *agent) lost(why error) {
	a.leave(fmt.Errorf("gorun is lost: %w", why), exitLauncher)
}

// leave kills the processes of the job on this host, cleans up and exits with an exit code, unless end has already
// begun to do so. It prints the reason, except io.EOF.
func (a *agent) leave(why error, code int) {
	a.out.abandon()
	a.up.close()
	if !a.alone.Swap(true) {
		close(a.left)
	}
	a.over.Do(func() {
		err := errors.Join(a.node.contain.kill(), a.node.cleanUp())
		if !errors.Is(why, io.EOF) {
			complain("agent: %v", why)
		}
		if err != nil {
			complain("agent: %v", err)
		}
		os.Exit(code)
	})
}

// obey acts on a frame of the launcher. An error ends the agent.
func (a *agent) obey(k link.Kind, body []byte) error {
	if done, err := a.below.take(k, body); done {
		return err
	}
	if a.relay == nil {
		return a.prepare(k, body)
	}
	switch k {
	case link.KindDown:
		a.below.tell(body)
		return a.relay.Tell(body)
	case link.KindCredit:
		t, n, err := link.ParseAmount(body)
		switch {
		case err != nil:
		case t.Stream != link.Stdin:
			err = a.out.credit(t, n)
		case !a.up.give(n):
			err = fmt.Errorf("credit of %d bytes for the frames of ranks: %w", n, link.ErrMalformed)
		}
		return err
	case link.KindInput, link.KindInputEnd:
		a.input(body, k == link.KindInputEnd)
	case link.KindSignal:
		t, n, err := link.ParseAmount(body)
		if err == nil {
			a.signal(t.Rank, syscall.Signal(n))
		}
		return err
	case link.KindSpare:
		s, err := link.Decode[link.Spare](body)
		if err == nil && (a.spawner == nil || s.Program >= len(a.programs)) {
			err = fmt.Errorf("spare of program %d of %d: %w", s.Program, len(a.programs), link.ErrMalformed)
		}
		if err == nil {
			a.addSpare(s.Program)
		}
		return err
	case link.KindLook:
		l, err := link.Decode[link.Look](body)
		if err == nil {
			a.look(l)
		}
		return err
	case link.KindKill:
		a.ending.Store(true)
		return a.kill()
	default:
		return fmt.Errorf("frame of kind %d from gorun: %w", k, link.ErrMalformed)
	}
	return nil
}

// inputOf returns the standard input of the first process of a rank, as wiring.input requires.
func (a *agent) inputOf(r *rank) (*os.File, bool, error) {
	if a.feed == nil || !a.feed.feeds(r.number) {
		return nil, false, nil
	}
	f, err := a.feed.pipe()
	return f, true, err
}

// input passes a piece of the launcher's standard input, or the end of that input, to the feed.
func (a *agent) input(data []byte, end bool) {
	switch {
	case a.feed == nil:
	case end:
		a.feed.end()
	default:
		a.feed.append(data)
	}
}

// wantInput gives the launcher n bytes of credit for standard input.
func (a *agent) wantInput(n int) {
	a.conn.Send(link.KindCredit, link.Target{}.Append(nil), link.Amount(n))
}

// serve forwards the frames of a rank to the launcher until the rank's socket ends.
func (a *agent) serve(r *rank) {
	defer close(r.served)
	if err := a.relay.Serve(r.number, r.conn); errors.Is(err, bootstrap.ErrMalformed) {
		// This KindUp contains no frame of the rank. The server in the launcher therefore reports that the rank
		// has sent a malformed frame.
		<-a.started
		a.conn.Send(link.KindUp, link.Target{Rank: r.number}.Append(nil))
	}
}

// signal sends a signal to a rank. It does nothing if the rank has ended.
func (a *agent) signal(number int, sig syscall.Signal) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, r := range a.node.ranks {
		if r.number == number {
			r.signal(sig)
		}
	}
}

// look sends the launcher what l asks for from the flight recorders of the ranks on this host.
func (a *agent) look(l link.Look) {
	answer, now := link.Seen{Number: l.Number}, time.Now()
	a.mu.Lock()
	for _, r := range a.node.ranks {
		if seen, any := r.look(l, now); any && r.number != noRank {
			answer.Records = append(answer.Records, seen)
		}
	}
	a.mu.Unlock()
	a.conn.Send(link.KindSeen, link.Encode(answer))
}

// report tells the launcher the end of each rank, after all frames of that rank, and the end of each spare. After a
// call of leave, it reports no rank. After ending is set, it reports no spare.
func (a *agent) report() {
	for x := range a.node.exits {
		r := x.rank
		if r.number == noRank {
			if !a.ending.Load() {
				a.missed(slices.Index(a.programs, r.app), spareEnded(x))
			}
			continue
		}
		a.mu.Lock()
		r.ended = x.at
		a.mu.Unlock()
		if err := shutRead(r.conn); err != nil {
			complain("agent: rank %d: %v", r.number, err)
		}
		<-r.served
		a.relay.Gone(r.number)
		if err := r.conn.Close(); err != nil {
			complain("agent: rank %d: %v", r.number, err)
		}
		a.mu.Lock()
		last := r.closeRecord(x)
		a.mu.Unlock()
		if a.alone.Load() {
			continue
		}
		a.conn.Send(link.KindExit, link.Encode(link.Exit{
			Rank: r.number, Status: uint32(x.status),
			User: x.usage.Utime.Nano() / 1000, System: x.usage.Stime.Nano() / 1000, MaxRSSKiB: x.usage.Maxrss,
			Last: last,
		}))
	}
}

// end cleans up after the last rank has ended, and exits.
func (a *agent) end() {
	a.over.Do(func() {
		a.ending.Store(true)
		a.unlessLost(a.below.running.Wait) // before contain.kill, which might also end the commands of a.below
		err := a.node.contain.kill()
		a.out.finish()
		err = errors.Join(err, a.node.cleanUp())
		if err != nil {
			complain("agent: %v", err)
		}
		a.conn.Send(link.KindDone)
		a.unlessLost(func() {
			if err := a.conn.Flush(); err != nil {
				complain("agent: %v", err)
			}
		})
		os.Exit(0)
	})
}
