package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/bootstrap"
	"github.com/gorun-hpc/gorun/cmd/gorun/internal/link"
)

// host is a machine or a container on which an agent runs ranks of this job. It may be this machine. At first,
// a host is only a name. The launcher reaches its agent by a command, or the agent of a pod connects to the
// launcher by itself.
type host struct {
	job      *job
	name     string
	line     []string     // command that starts the agent; nil for a pod whose agent connects by itself
	ranks    []*rank      // sorted by number; empty if another host's agent runs them. See mu
	slots    int          // number of processes that the host has room for
	spares   map[*app]int // number of spares on the host, by program
	here     bool         // no other host starts the agent: the host is this machine, or a pod
	installs bool         // the command is a shell, to which gorun is copied

	via    *host   // the host whose agent runs the command, nil if this process runs it
	number int     // number of the command among the commands of that agent
	below  []*host // the hosts whose commands the agent of this host runs
	frames *frames // received frames, if several hosts share the link; else nil

	command  *exec.Cmd // nil for a pod, and if another host runs the command
	process  *session  // of command
	begun    bool      // the command was started, or the agent of the pod has connected
	out      *os.File  // the agent's standard output; for a pod, the connection
	deliver  *os.File  // the writing end of out, if another host runs the command
	in       io.WriteCloser
	conn     *link.Conn
	errs     *remarks      // standard error of the command
	quit     func()        // stops conn.Watch
	exited   chan struct{} // closed when the command has ended, after code and how were set
	code     int           // exit code of the command, -1 if there is none
	how      string        // how the command ended, in words
	readDone chan struct{} // closed when nothing more is received; nil before listen
	cut      []*rank       // the ranks whose end was received, but not the end of their output; set by listen

	hello link.Hello
	node  bootstrap.NodeID
	input *window // for standard input
	files *window // for the files of -copy
	due   int     // bytes of the ranks' frames that were received and not yet returned as credit
	way   *bootstrap.Link

	// mu guards the fields below. While ranks run, it also guards ranks: only the goroutine that supervises the job sets
	// ranks, so that goroutine reads ranks without mu. It sets a new slice and leaves the old one unchanged.
	mu   sync.Mutex
	why  error         // reason for which the connection was given up, nil if it was not
	gone chan struct{} // closed when why is set; nil before the first call of lost
}

// open initializes the fields that every connection needs, before the connection is begun.
func (h *host) open() {
	h.exited, h.errs = make(chan struct{}), &remarks{job: h.job, host: h.name}
	h.input, h.files = newWindow(), newWindowOf(link.FileWindowBytes)
}

// start starts the command. The calling thread must live as long as gorun, because the command gets its
// death signal when that thread ends.
func (h *host) start() error {
	h.open()
	var theirs [2]*os.File
	var in *os.File
	var err error
	if theirs[0], in, err = os.Pipe(); err != nil {
		return err
	}
	if h.out, theirs[1], err = os.Pipe(); err != nil {
		return errors.Join(err, theirs[0].Close(), in.Close())
	}
	h.in, h.code = in, -1
	c := exec.Command(h.line[0], h.line[1:]...)
	c.Env = h.job.opts.commandEnviron()
	c.Stdin, c.Stdout, c.Stderr = theirs[0], theirs[1], h.errs
	// The command gets a session of its own. Ctrl-C then does not reach the command directly. gorun forwards
	// Ctrl-C instead. The command also cannot ask for a password on gorun's terminal.
	h.process = newSession(c)
	c.WaitDelay = time.Second
	h.command = c
	h.job.say("host %s: %s", h.name, shellLine(h.line))
	err = errors.Join(c.Start(), theirs[0].Close(), theirs[1].Close())
	if err != nil {
		close(h.exited)
		return fmt.Errorf("host %s: cannot run %s: %w; -rsh names another command", h.name, h.line[0], err)
	}
	h.begun = true
	go func() {
		_ = c.Wait() // c.ProcessState has the result
		h.process.close()
		h.code, h.how = c.ProcessState.ExitCode(), c.ProcessState.String()
		h.errs.end()
		close(h.exited)
	}()
	return nil
}

// lose sets the reason for which the connection is given up. If a reason was set before, lose returns false
// and changes nothing.
func (h *host) lose(why error) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.why != nil {
		return false
	}
	h.why = why
	if h.gone != nil {
		close(h.gone)
	}
	return true
}

// lost returns a channel that is closed when the connection has been given up.
func (h *host) lost() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.gone == nil {
		h.gone = make(chan struct{})
		if h.why != nil {
			close(h.gone)
		}
	}
	return h.gone
}

// giveUp ends the connection for a reason. Only the first call has an effect.
func (h *host) giveUp(why error) {
	first := h.lose(why)
	switch {
	case !first || !h.begun:
	case h.via != nil:
		h.via.conn.Send(link.KindExecKill, link.Numbered(h.number))
		_ = h.out.Close()
	default:
		if h.command != nil {
			h.process.kill()
		}
		_ = h.out.Close()
	}
}

// reason returns the reason for which the connection was given up. It returns nil if the connection was not
// given up.
func (h *host) reason() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.why
}

// greet sends the greeting and waits for the agent's Hello. The error names the fault of the host and the
// remedy.
func (h *host) greet() error {
	if h.conn != nil {
		return nil // a pod, whose agent has connected and said Hello
	}
	in := bufio.NewReader(h.out)
	if h.installs && h.via == nil {
		if err := install(in, h.in, nil); err != nil {
			return h.noAnswer(err)
		}
	}
	conn := link.NewConn(in, h.in)
	greeting := link.Encode(link.Greet{Programs: link.Texts(h.job.files.paths), Whole: h.job.opts.copies})
	// If nothing but gorun reads the command's input, the greeting is sent before the preamble has arrived. With
	// -copy, head (installScript) reads the input first, and the head of BusyBox reads more than the executable.
	early := h.via == nil && !h.installs
	if early {
		conn.Send(link.KindGreet, greeting)
	}
	protocol, version, err := link.ReadPreamble(in)
	if err != nil {
		return h.noAnswer(err)
	}
	if own := moduleVersion(); protocol != link.Protocol || version != own {
		return fmt.Errorf("host %s: its gorun is version %s (protocol %d), this one is %s (protocol %d): "+
			"copy this one there, name the right one with -agent-path, or send it with -copy", h.name, version, protocol, own, link.Protocol)
	}
	h.conn = conn
	h.quit = h.conn.Watch(link.Silence, func() { h.giveUp(h.silence()) })
	if !early {
		h.conn.Send(link.KindGreet, greeting)
	}
	body, err := h.expect(link.KindHello)
	if err == nil {
		h.hello, err = link.Decode[link.Hello](body)
	}
	if err != nil {
		return h.noAnswer(err)
	}
	h.errs.open()
	h.node = h.hello.Node
	return nil
}

// expect receives a frame. It returns an error for a frame of another kind than want.
func (h *host) expect(want link.Kind) ([]byte, error) {
	k, body, err := h.receive()
	if err == nil && k != want {
		err = fmt.Errorf("frame of kind %d in place of %d: %w", k, want, link.ErrMalformed)
	}
	return body, err
}

// exitDelay is how long the method ending waits for the exit of a command after the end of its output.
const exitDelay = 2 * time.Second

// ended reports whether an error of the connection means that its other end has ended. The kernel resets the connection
// of a process that ends before it has read all bytes. A write to its pipe fails with EPIPE.
func ended(err error) bool {
	for _, end := range []error{io.EOF, io.ErrUnexpectedEOF, os.ErrClosed, unix.ECONNRESET, unix.EPIPE} {
		if errors.Is(err, end) {
			return true
		}
	}
	return false
}

// ending returns a text that describes how the connection has ended. err is the error of receiving or sending.
func (h *host) ending(err error) string {
	if why := h.reason(); why != nil {
		return why.Error()
	}
	if !ended(err) {
		return err.Error()
	}
	if h.line == nil {
		return "the connection ended"
	}
	select {
	case <-h.exited:
		return fmt.Sprintf("the connection ended (%s: %s)", h.line[0], h.how)
	case <-time.After(exitDelay):
		return "the connection ended"
	}
}

// sshFailed is the exit code of ssh if it cannot reach the host.
const sshFailed = 255

// noAnswer returns an error that explains why the agent did not start or does not answer, with a remedy.
func (h *host) noAnswer(err error) error {
	if h.line == nil {
		return &noAnswerError{fmt.Sprintf("host %s: its agent was lost before the job began: %s: see the log of the pod", h.name, h.ending(err))}
	}
	var noise *link.NoiseError
	what, remedy := h.ending(err), ""
	try := "try by hand: " + shellLine(h.line[:len(h.line)-1]) + " -version"
	if h.installs { // the last word is the shell that gets gorun
		try = "try by hand: " + shellLine(h.line)
	}
	code := -1
	select {
	case <-h.exited:
		code = h.code
	default:
	}
	switch {
	case errors.As(err, &noise):
		what = fmt.Sprintf("something else answers in place of gorun: %q", noise.Said)
		remedy = "let start-up files of its shell (.bashrc, .profile) print in interactive shells only"
	case h.reason() != nil:
		remedy = try
	case h.installs && code != sshFailed:
		what = "gorun cannot be copied to it: " + what
		remedy = "-copy needs a shell with mktemp, head and gzip on the host, and a temporary directory (TMPDIR there, or /tmp) where programs may be executed; " + try
		if code == exitNotFound || code == exitNotExecuted {
			remedy += loaderRemedy(ownFile)
		}
	case code == exitNotFound || code == exitNotExecuted:
		what = fmt.Sprintf("there is no gorun at %s (%s)", h.line[len(h.line)-2], what)
		remedy = "send it with -copy, copy this one there, or say where it is with -agent-path"
	case code == 0 && errors.Is(err, io.EOF):
		what = fmt.Sprintf("%s ended without an answer of gorun", shellLine(h.line))
		remedy = "say where gorun is on the host with -agent-path, or send it with -copy"
	default:
		what = "it cannot be reached: " + what
		remedy = try
	}
	switch {
	case h.via != nil && code < 0 && h.reason() == nil && !errors.As(err, &noise):
		// The agent of h.via could not start the command. h.how has its error.
		what = fmt.Sprintf("host %s, from which it is reached, cannot run %s: %s", h.via.name, h.line[0], h.how)
		remedy = "the command of -rsh has to be on that host as well; with " + radixEnv + "=1000 this gorun connects to all hosts itself"
	case h.via != nil:
		remedy += ", on host " + h.via.name + ", from which it is reached; with " + radixEnv + "=1000 this gorun connects to all hosts itself"
	}
	text := fmt.Sprintf("host %s: %s", h.name, what)
	for _, line := range h.errs.last() {
		text += "\n  | " + line
	}
	return errors.New(text + "\n" + remedy)
}

// signal sends a signal to a rank.
func (h *host) signal(rank int, sig syscall.Signal) {
	h.conn.Send(link.KindSignal, link.Target{Rank: rank}.Append(nil), link.Amount(int(sig)))
}

// kill tells the agent of the host to kill the processes of the job there (agent.kill).
func (h *host) kill() {
	if h.conn != nil {
		h.conn.Send(link.KindKill)
	}
}

// probe asks the agent of h whether the agent of another host is on the same node. It returns "" if both are
// on one node, otherwise the reason why they are not.
func (h *host) probe(other *host) (string, error) {
	h.conn.Send(link.KindProbe, link.Encode(other.hello.Probe))
	body, err := h.expect(link.KindProbed)
	if err != nil {
		return "", h.noAnswer(err)
	}
	p, err := link.Decode[link.Probed](body)
	return p.Why, err
}

// remarks collects the standard error of the command that reaches a host. Before the agent has started,
// remarks prints the lines only with -v, because they may be greetings and warnings of the host. If the agent
// does not start, noAnswer shows the last lines.
type remarks struct {
	job  *job
	host string

	mu   sync.Mutex // guards the fields below
	tail []byte     // the last bytes, at most tailBytesMax
	line []byte     // an incomplete line
	up   bool       // the agent has started
}

// Write implements io.Writer.
func (r *remarks) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tail = append(r.tail, p...)
	if over := len(r.tail) - tailBytesMax; over > 0 {
		r.tail = append(r.tail[:0], r.tail[over:]...)
	}
	for _, b := range p {
		if b != '\n' && len(r.line) < tailBytesMax {
			r.line = append(r.line, b)
			continue
		}
		if r.print(); b != '\n' {
			r.line = append(r.line, b)
		}
	}
	return len(p), nil
}

// print prints the collected line. Callers hold mu.
func (r *remarks) print() {
	if text := strings.TrimPrefix(string(r.line), complaint); r.up {
		complain("host %s: %s", r.host, text)
	} else {
		r.job.say("host %s: %s", r.host, text)
	}
	r.line = r.line[:0]
}

// end prints an incomplete last line. It is called when the command has ended.
func (r *remarks) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.line) > 0 {
		r.print()
	}
}

// open is called when the agent has started. From then on, the command's standard error is printed.
func (r *remarks) open() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.up = true
}

// last returns the last lines of standard error, at most tailLinesMax.
func (r *remarks) last() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return lastLines(r.tail, tailLinesMax)
}
