package doctor

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Host is a host to examine.
type Host struct {
	Name string
	Line []string // the command that runs Serve on the host
	Env  []string // environment of the command, nil for the environment of this process
	// Gorun is the path of gorun on the host.
	Gorun string
	By    string // a command with which the user can test by hand whether the host is reachable

	Report   *Report // nil if the host did not answer
	Findings []Finding
	Skew     time.Duration // the host's clock minus the clock of this machine; its error is at most Within
	Within   time.Duration
	Answers  []Answer // the results of the host's calls to the other hosts

	command *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	replies *json.Decoder
	errs    bytes.Buffer
	pid     atomic.Int64 // process ID of the command; 0 while it does not run
	late    atomic.Bool  // the time for the host has ended, and the command is killed
}

// Examine examines hosts concurrently and sets their results. It gives up a host that needs more than the duration
// patience for its start, its report and the request for its time together, or more than patience for its calls.
// version is the version of gorun that all hosts should have.
func Examine(hosts []*Host, version string, patience time.Duration) {
	each := func(f func(*Host) error) {
		var all sync.WaitGroup
		for _, h := range hosts {
			all.Go(func() { h.attempt(patience, f) })
		}
		all.Wait()
	}
	each((*Host).start)
	calls := make(map[*Host][]Peer, len(hosts)) // made before the calls: a host whose calls fail loses its report
	for _, h := range hosts {
		calls[h] = h.others(hosts)
	}
	each(func(h *Host) error {
		if h.Report == nil || len(hosts) == 1 {
			return nil
		}
		return h.call(calls[h])
	})
	for _, h := range hosts {
		h.end()
	}
	compare(hosts, version)
}

// attempt calls f. After the duration patience, it kills the host's command, so that f returns with an
// error. An error becomes a finding.
func (h *Host) attempt(patience time.Duration, f func(*Host) error) {
	timer := time.AfterFunc(patience, func() {
		h.late.Store(true)
		h.kill()
	})
	err := f(h)
	timer.Stop()
	if err == nil {
		return
	}
	h.Report = nil
	text := err.Error()
	if h.late.Load() {
		text = fmt.Sprintf("no answer within %v", patience)
	}
	h.end() // ends the command if it has not ended by itself; then its standard error is complete
	for line := range strings.Lines(h.errs.String()) {
		text += "\n  | " + strings.TrimRight(line, "\n")
	}
	h.Findings = append(h.Findings, fail("reach", "try by hand: "+h.By, "%s", text))
}

// start starts the command, reads the host's report and measures the skew of its clock.
func (h *Host) start() error {
	c := exec.Command(h.Line[0], h.Line[1:]...)
	c.Env, c.Stderr = h.Env, &h.errs
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // without a terminal ssh cannot ask questions
	c.WaitDelay = time.Second
	in, err := c.StdinPipe()
	if err != nil {
		return err
	}
	out, err := c.StdoutPipe()
	if err != nil {
		return err
	}
	h.in, h.out = in, bufio.NewReader(out)
	if err := c.Start(); err != nil {
		return err
	}
	h.command = c
	if h.pid.Store(int64(c.Process.Pid)); h.late.Load() {
		h.kill()
	}
	first, err := h.out.ReadString('\n')
	if rest, ok := strings.CutPrefix(first, greeting); !ok || err != nil {
		return h.stranger(first)
	} else if h.replies = json.NewDecoder(h.out); rest == "" {
		return errors.New("an empty version")
	}
	h.Report = &Report{}
	if err := h.replies.Decode(h.Report); err != nil {
		return fmt.Errorf("its report: %w", err)
	}
	before := time.Now()
	a, err := h.ask(request{Clock: true})
	took := time.Since(before)
	h.Skew, h.Within = time.Duration(a.Nanoseconds-before.Add(took/2).UnixNano()), took/2
	return err
}

// stranger returns the error for a first line of output that is not the greeting of Serve. line is "" if
// there was no output.
func (h *Host) stranger(line string) error {
	if line != "" {
		return fmt.Errorf("something else answers in place of gorun, or another version of it: %q: copy this gorun there, and let start-up files of the shell print in interactive shells only", strings.TrimSpace(line))
	}
	err := h.wait()
	const notExecuted, notFound = 126, 127
	if exit := new(exec.ExitError); errors.As(err, &exit) && (exit.ExitCode() == notExecuted || exit.ExitCode() == notFound) {
		return fmt.Errorf("there is no gorun at %s (%w): copy this one there, or say where it is with -agent-path", h.Gorun, err)
	}
	if err == nil {
		err = errors.New("the connection ended")
	}
	return fmt.Errorf("it cannot be reached: %w", err)
}

// ask sends a request and returns the reply.
func (h *Host) ask(q request) (a reply, err error) {
	if err := json.NewEncoder(h.in).Encode(q); err != nil {
		return a, err
	}
	err = h.replies.Decode(&a)
	return a, err
}

// others returns the other hosts that have reported.
func (h *Host) others(hosts []*Host) (peers []Peer) {
	for _, other := range hosts {
		if other != h && other.Report != nil {
			peers = append(peers, Peer{Name: other.Name, Addresses: other.Report.Addresses, Token: other.Report.Token})
		}
	}
	return peers
}

// call makes the host call its peers, and stores the results.
func (h *Host) call(peers []Peer) error {
	a, err := h.ask(request{Calls: peers})
	if err != nil {
		return fmt.Errorf("it has not called the other hosts: %w", err)
	}
	h.Answers = a.Answers
	return nil
}

// end closes the command's standard input, so that Serve returns, and waits for the end of the command. It
// kills a command that takes longer than callDelay.
func (h *Host) end() {
	end := time.AfterFunc(callDelay, h.kill)
	_ = h.wait()
	end.Stop()
}

// kill kills the process group of the command.
func (h *Host) kill() {
	if pid := int(h.pid.Load()); pid > 0 {
		_ = unix.Kill(-pid, unix.SIGKILL)
	}
}

// wait closes the command's standard input and waits for the end of the command.
func (h *Host) wait() error {
	if h.command == nil || h.command.ProcessState != nil {
		return nil
	}
	_ = h.in.Close()
	defer h.pid.Store(0)
	return h.command.Wait()
}
