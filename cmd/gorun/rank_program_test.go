package main_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/bootstrap"
	"github.com/gorun-hpc/gorun/internal/testbed/launch"
)

// helperMain is the main function of the programs of the tests, most of which are ranks. The name selects the program.
func helperMain(name string, args []string) int {
	switch name {
	case "signals": // prints "ready" and then the signals that it gets
		return printSignals(args)
	case "environ": // prints the values of variables
		values := make([]string, len(args))
		for i, name := range args {
			values[i] = os.Getenv(name)
		}
		fmt.Println(strings.Join(values, "|"))
		return 0
	case "agent": // simulates the agent on another host
		return pretendToBeAgent(args[0], args[1])
	case "output": // simulates an agent that may keep a part of the output
		return keepOutput(args[1], args[0] == "whole")
	case "grandchildren": // leaves two children, one of them in a session of its own
		for _, own := range []bool{false, true} {
			c := exec.Command("sleep", "1000")
			c.SysProcAttr = &syscall.SysProcAttr{Setsid: own}
			c.Stdout, c.Stderr = os.Stdout, os.Stderr
			if err := c.Start(); err != nil {
				panic(err)
			}
		}
	}
	s, err := bootstrap.Join()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 99
	}
	if name == "generations" { // takes part in the generations up to args[0]
		return enterGenerations(s, args[0], args[1:])
	}
	if name == "report" { // sends reports forever, and prints the signals that it gets
		go func() {
			for s.Stalled(strings.Repeat("x", 60<<10)) == nil {
				continue
			}
		}()
		return printSignals(nil)
	}
	book, err := s.Exchange(context.Background(), s.Card())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 98
	}
	switch name {
	case "book": // prints host, slot and node of every card
		printBook(book)
		return finalize(s, 0)
	case "secret": // writes the secret to a file
		secret := s.Secret()
		if err := os.WriteFile(fmt.Sprintf("%s/%d", args[0], s.Job().Rank), secret[:], 0o600); err != nil {
			panic(err)
		}
		fmt.Println("ready")
	}
	return joinedMain(s, name, args)
}

// printBook prints, for each card, the host, the slot, and the index of its node among the nodes of
// the book.
func printBook(b *bootstrap.Book) {
	nodes := map[bootstrap.NodeID]int{}
	var line []string
	for rank := range b.Size() {
		c, ok := b.Card(rank)
		if !ok {
			panic(rank)
		}
		if _, ok := nodes[c.Node]; !ok {
			nodes[c.Node] = len(nodes)
		}
		line = append(line, fmt.Sprintf("%s%d=%d", c.Host, c.Slot, nodes[c.Node]))
	}
	fmt.Println(strings.Join(line, " "))
}

// joinedMain is the part of a rank's program after the exchange of the cards.
func joinedMain(s *bootstrap.Session, name string, args []string) int {
	victim := len(args) > 0 && args[0] == strconv.Itoa(s.Job().Rank)
	switch {
	case name == "join":
		if err := s.Fence(context.Background()); err != nil {
			panic(err)
		}
		fmt.Printf("rank %d of %d\n", s.Job().Rank, s.Job().Size)
		return finalize(s, 0)
	case name == "stopped" && victim:
		_ = unix.Kill(os.Getpid(), unix.SIGSTOP)
	case name == "fail": // ends with an error whose origin is this rank or another rank
		if err := s.Fence(context.Background()); err != nil {
			panic(err)
		}
		fmt.Fprintln(os.Stderr, "before")
		if len(args) > 2 && args[2] == "closed" {
			_ = os.Stdout.Close()
			_ = os.Stderr.Close()
			if err := s.Fence(context.Background()); err != nil {
				panic(err)
			}
		}
		origin, err := strconv.Atoi(args[0])
		if err != nil {
			origin = s.Job().Rank
		}
		if s.Job().Rank == origin && len(args) > 2 && args[2] == "stays" {
			select {} // until a signal ends the rank
		}
		if err := s.Fail(origin, -1, args[1]); err != nil {
			panic(err)
		}
		return 1
	case name == "named":
		return endAsNamed(s, args[0], args[1])
	case name == "flood": // writes forever, and reports through a pipe that its fences are complete
		go func() {
			for {
				fmt.Println(strings.Repeat("x", 1000))
			}
		}()
		for range 100 {
			if err := s.Fence(context.Background()); err != nil {
				panic(err)
			}
		}
		if err := os.WriteFile(args[0], []byte("fenced\n"), 0); err != nil {
			panic(err)
		}
	case name == "grandchildren":
		fmt.Println("ready")
	case name == "abort" && victim:
		fmt.Fprintln(os.Stderr, "no more work")
		code := 9
		if len(args) > 1 {
			code, _ = strconv.Atoi(args[1])
		}
		s.Abort(code, "ran out of work")
		return code
	case name == "spared": // the victim aborts and prints the first signal that it gets
		return abortAndListen(s, victim, args[1])
	case name == "leave" && victim:
		return 0
	case name == "die" && victim:
		sig, err := strconv.Atoi(args[1])
		if err != nil {
			panic(err)
		}
		_ = unix.Kill(os.Getpid(), syscall.Signal(sig))
		select {}
	case name == "garbage" && victim:
		// Descriptor 3 is the socket to the agent.
		_, _ = unix.Write(3, []byte{1, 0, 0, 0, 250})
	}
	code := 0
	if len(args) > 2 {
		if n, err := strconv.Atoi(args[2]); err == nil {
			code = n
		}
	}
	return listen(s, code, slices.Contains(args, "stay"), slices.Contains(args, "handle") && s.Job().Rank == 0)
}

// abortAndListen lets the victim abort the job. The other ranks write to a FIFO when they have received their
// terminating signal. Then the victim sends itself SIGUSR1, and prints the first signal that it has received.
func abortAndListen(s *bootstrap.Session, victim bool, fifo string) int {
	c := make(chan os.Signal, 2)
	signal.Notify(c, unix.SIGTERM, unix.SIGUSR1)
	if err := s.Fence(context.Background()); err != nil {
		panic(err)
	}
	if !victim {
		<-c
		if err := os.WriteFile(fifo, []byte("told"), 0); err != nil {
			panic(err)
		}
		return 1
	}
	s.Abort(9, "")
	if _, err := os.ReadFile(fifo); err != nil {
		panic(err)
	}
	_ = unix.Kill(os.Getpid(), unix.SIGUSR1)
	fmt.Println(<-c)
	return 9
}

// listen handles notices until a peer is down. Then it leaves the job and returns code. If stay is true, it
// goes on instead. If the agent is lost, listen returns another code.
func listen(s *bootstrap.Session, code int, stay, handle bool) int {
	if s.Job().OnFailure == bootstrap.OnFailureKill {
		fmt.Println("waiting")
	}
	for n := range s.Notices() {
		switch n.Kind {
		case bootstrap.Dump:
			if err := s.Report(n.Number, "blocked in Recv from rank 3"); err != nil {
				panic(err)
			}
		case bootstrap.PeerDown:
			fmt.Printf("rank %d heard: rank %d %s\n", s.Job().Rank, n.Rank, n.Cause)
			if handle {
				if err := s.Handled(n.Rank); err != nil {
					panic(err)
				}
			}
			if !stay {
				return finalize(s, code)
			}
		case bootstrap.AgentLost:
			return 97
		}
	}
	return 96
}

func finalize(s *bootstrap.Session, code int) int {
	if err := s.Finalize(); err != nil {
		panic(err)
	}
	return code
}

// printSignals prints the names of the signals that it gets, until one of them is in args.
func printSignals(args []string) int {
	c := make(chan os.Signal, 16)
	signal.Notify(c, unix.SIGUSR1, unix.SIGUSR2, unix.SIGINT, unix.SIGTERM, unix.SIGCONT)
	fmt.Println("ready")
	for sig := range c {
		name := unix.SignalName(sig.(syscall.Signal))
		fmt.Println(name)
		if slices.Contains(args, name) {
			return 0
		}
	}
	return 1
}

// helper returns the arguments that run this test binary as a helper.
func helper(flags []string, name string, args ...string) []string {
	return append(append(slices.Clone(flags), self, helperPrefix+name), args...)
}

func commandLine(pid int) string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return err.Error()
	}
	return strings.ReplaceAll(string(b), "\x00", " ")
}

func kill9(pid int) { _ = unix.Kill(pid, unix.SIGKILL) }

// await waits until a process has ended.
func await(t *testing.T, pid int) {
	t.Helper()
	fd, err := unix.PidfdOpen(pid, 0)
	if err == unix.ESRCH {
		return
	}
	if err == unix.EPERM || err == unix.ENOSYS { // a container may forbid pidfd_open
		awaitState(t, pid)
		return
	}
	require.NoError(t, err)
	defer func() { require.NoError(t, unix.Close(fd)) }()
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(limit/time.Millisecond))
	for err == unix.EINTR {
		n, err = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(limit/time.Millisecond))
	}
	require.NoError(t, err)
	require.Equal(t, 1, n, "process %d does not end: %s", pid, commandLine(pid))
}

// awaitState does the same as await, but polls.
func awaitState(t *testing.T, pid int) {
	t.Helper()
	require.Eventually(t, func() bool {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		state := b[bytes.LastIndexByte(b, ')')+1:] // the name may have any character; b may be empty
		return err != nil || len(state) == 0 || bytes.HasPrefix(state, []byte(" Z")) || bytes.HasPrefix(state, []byte(" X"))
	}, limit, time.Millisecond, "process %d does not end: %s", pid, commandLine(pid))
}

// agents returns the process IDs of the agents of a run.
func agents(t *testing.T, r *run) []int {
	t.Helper()
	return slices.DeleteFunc(launch.Marked(r.mark), func(pid int) bool {
		return !strings.HasSuffix(strings.TrimSpace(commandLine(pid)), "-gorun-agent")
	})
}

// children returns the child processes of a process that have a word in their command line.
func children(t *testing.T, pid int, word string) []int {
	t.Helper()
	var found []int
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	require.NoError(t, err)
	for _, task := range tasks {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pid, task.Name()))
		if err != nil {
			continue // the thread has ended
		}
		for _, f := range strings.Fields(string(text)) {
			child, err := strconv.Atoi(f)
			require.NoError(t, err)
			if strings.Contains(commandLine(child), word) {
				found = append(found, child)
			}
		}
	}
	return found
}

// awaitLines reads lines until n of them equal want.
func awaitLines(t *testing.T, r *bufio.Reader, n int, want string) {
	t.Helper()
	for n > 0 {
		line, err := r.ReadString('\n')
		require.NoError(t, err, "%d lines %q to come", n, want)
		if strings.TrimSpace(line) == want {
			n--
		}
	}
}

// exitStatus returns the exit code of a process as a shell does: 128+n after signal n.
func exitStatus(p *os.ProcessState) int {
	if ws, ok := p.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return p.ExitCode()
}
