package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	goruntime "runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/cmd/gorun/internal/link"
)

// branches holds the commands by which an agent starts the agents below it in the tree of hosts. The standard
// streams of a command carry the link between the launcher and the agent that the command starts. The agent on
// this host passes the bytes of these streams on. The agent itself sends to the agents below only the frames
// for all ranks and, with -copy, gorun and the files.
type branches struct {
	conn    *link.Conn
	starts  chan func()
	running sync.WaitGroup

	mu   sync.Mutex // guards the field below
	list map[int]*branch
}

// branch is one command that runs.
type branch struct {
	command *exec.Cmd
	process *session
	in      *link.Conn // queues the input, so that a slow host does not delay the others
}

func newBranches(conn *link.Conn) *branches {
	return &branches{conn: conn, list: map[int]*branch{}, starts: make(chan func())}
}

// take acts on a frame about a command. It returns false for other frames.
func (b *branches) take(k link.Kind, body []byte) (bool, error) {
	switch k {
	case link.KindExec:
		e, err := link.Decode[link.Exec](body)
		if err == nil && b.find(e.Number) != nil {
			err = fmt.Errorf("second command %d: %w", e.Number, link.ErrMalformed)
		}
		if err == nil {
			b.start(e)
		}
		return true, err
	case link.KindExecInput, link.KindExecKill:
		number, rest, err := link.ParseNumbered(body)
		if err != nil {
			return true, err
		}
		switch r := b.find(number); {
		case r == nil: // the command has ended
		case k == link.KindExecKill:
			r.process.kill()
		default:
			r.in.Pass(rest)
		}
		return true, nil
	default:
		return false, nil
	}
}

func (b *branches) find(number int) *branch {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.list[number]
}

// idle returns true if no command runs.
func (b *branches) idle() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.list) == 0
}

// tell forwards a frame of the bootstrap server to the agents that this agent has started. The frame is for all ranks.
func (b *branches) tell(body []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range b.list {
		r.in.Send(link.KindDown, body)
	}
}

// start starts a command. If that fails, start tells the launcher why.
func (b *branches) start(e link.Exec) {
	line := link.Strings(e.Line)
	r := &branch{command: exec.Command(line[0], line[1:]...)}
	r.command.Env = rankEnviron(os.Environ())
	r.process = newSession(r.command)
	in, e1 := r.command.StdinPipe()
	out, e2 := readPipe(&r.command.Stdout)
	remarks, e3 := readPipe(&r.command.Stderr)
	err := errors.Join(e1, e2, e3)
	if err == nil {
		err = b.launch(r.command)
	}
	for _, theirs := range []io.Writer{r.command.Stdout, r.command.Stderr} {
		if f, ok := theirs.(*os.File); ok {
			_ = f.Close()
		}
	}
	if err != nil {
		_, _ = out.Close(), remarks.Close() // without effect for nil
		b.end(e.Number, -1, err.Error())
		return
	}
	r.in = link.NewConn(nil, &input{to: in})
	b.mu.Lock()
	b.list[e.Number] = r
	b.mu.Unlock()
	var streams sync.WaitGroup
	streams.Go(func() {
		from := bufio.NewReaderSize(out, link.ChunkBytesMax)
		if e.Gorun != nil {
			b.install(e, from, in)
		}
		b.copy(link.KindExecOutput, e.Number, from, out)
	})
	streams.Go(func() { b.copy(link.KindExecRemark, e.Number, remarks, remarks) })
	b.running.Go(func() {
		err := r.command.Wait()
		// A process that the command leaves behind may hold the streams open for ever, as the master of ssh's
		// ControlPersist does. SetReadDeadline fails if copy has closed the stream after its end.
		late := time.Now().Add(lingerDelay)
		_, _ = out.SetReadDeadline(late), remarks.SetReadDeadline(late)
		streams.Wait()
		b.mu.Lock()
		delete(b.list, e.Number)
		b.mu.Unlock()
		r.process.close()
		how := "it has ended"
		if s := r.command.ProcessState; s != nil {
			how = s.String()
		} else if err != nil && !errors.Is(err, unix.ECHILD) { // ECHILD: the agent's reaper has waited for the process
			how = err.Error()
		}
		b.end(e.Number, r.command.ProcessState.ExitCode(), how)
	})
}

// lingerDelay is how long an agent waits for the ends of the output streams of a command after the command has
// ended.
const lingerDelay = time.Second

// readPipe makes a pipe, sets its writing end as an output stream of a command, and returns its reading end.
func readPipe(stream *io.Writer) (*os.File, error) {
	read, write, err := os.Pipe()
	if err == nil {
		*stream = write
	}
	return read, err
}

// install copies the executable of gorun to the shell that a command reaches. If the first line that the shell
// prints is not the line of installScript, install passes that line on to the launcher. After any error, install
// kills the command. The launcher writes nothing to the command before it has read a first answer from the
// command's output.
func (b *branches) install(e link.Exec, from *bufio.Reader, to io.Writer) {
	err := install(from, to, e.Gorun)
	var noise *link.NoiseError
	switch {
	case errors.As(err, &noise):
		b.conn.Send(link.KindExecOutput, link.Numbered(e.Number), noise.Said, []byte("\n"))
	case err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, os.ErrDeadlineExceeded):
		b.conn.Send(link.KindExecRemark, link.Numbered(e.Number), []byte(err.Error()+"\n"))
	}
	if r := b.find(e.Number); err != nil && r != nil {
		r.process.kill()
	}
}

func (b *branches) end(number, code int, how string) {
	b.conn.Send(link.KindExecEnd, link.Encode(link.ExecEnd{Number: number, Code: code, Text: how}))
}

// launch starts a command on a thread that lives as long as the agent. When that thread ends, the kernel sends
// the command its death signal (Pdeathsig).
func (b *branches) launch(c *exec.Cmd) error {
	result := make(chan error)
	start := func() { result <- c.Start() }
	select {
	case b.starts <- start:
	default:
		go func() {
			goruntime.LockOSThread()
			start()
			for f := range b.starts {
				f()
			}
		}()
	}
	return <-result
}

// copy sends an output stream of a command to the launcher, no faster than the connection takes it. The parameter
// from reads from the parameter pipe; the two may be the same. At the end of the stream, copy closes the pipe. After
// the deadline of the pipe, copy sends only what the pipe still contains.
func (b *branches) copy(k link.Kind, number int, from io.Reader, pipe *os.File) {
	defer func() { _ = pipe.Close() }()
	buf := make([]byte, link.ChunkBytesMax)
	read := from.Read
	for {
		n, err := read(buf)
		if n > 0 {
			b.conn.Room()
			b.conn.Send(k, link.Numbered(number), buf[:n])
		}
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			read = rest(pipe)
		case err != nil || n == 0:
			return
		}
	}
}

// input is the standard input of a command. An empty write closes it.
type input struct{ to io.WriteCloser }

// Write implements io.Writer.
func (i *input) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, i.to.Close()
	}
	return i.to.Write(p)
}

// kill kills the processes of the job on this host. The commands that reach the hosts below may be in the same
// containment. While such commands run, kill therefore kills only the ranks, and the method end kills the other
// processes.
func (a *agent) kill() error {
	if a.below.idle() {
		return a.node.contain.kill()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, r := range a.node.ranks {
		r.signal(unix.SIGKILL)
	}
	return nil
}

// unlessLost calls wait. It returns when wait has returned or leave was called, for example because the
// launcher is lost. Without the launcher, wait might never return.
func (a *agent) unlessLost(wait func()) {
	done := make(chan struct{})
	go func() {
		wait()
		close(done)
	}()
	select {
	case <-done:
	case <-a.left:
	}
}
