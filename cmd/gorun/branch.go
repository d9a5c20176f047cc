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

	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/cmd/gorun/internal/link"
)

// branches are the commands that an agent runs in order to start the agents below it. Their
// bytes are those of links between gorun and these agents, which this one only passes on,
// but for what goes to all.
type branches struct {
	conn    *link.Conn
	starts  chan func()
	running sync.WaitGroup

	mu   sync.Mutex // guards what follows
	list map[int]*branch
}

// branch is one command.
type branch struct {
	number  int
	command *exec.Cmd
	process *session
	in      *link.Conn // its queue does not let a slow host delay the others
}

func newBranches(conn *link.Conn) *branches {
	return &branches{conn: conn, list: map[int]*branch{}, starts: make(chan func())}
}

// take carries out a frame about a command, and reports false for other frames.
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
		case r == nil: // it has ended
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

// idle reports whether no command runs.
func (b *branches) idle() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.list) == 0
}

// tell sends to all agents below what goes to all ranks.
func (b *branches) tell(body []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range b.list {
		r.in.Send(link.KindDown, body)
	}
}

// start starts a command, or reports why that is not possible.
func (b *branches) start(e link.Exec) {
	line := link.Strings(e.Line)
	r := &branch{number: e.Number, command: exec.Command(line[0], line[1:]...)}
	r.command.Env = rankEnviron(os.Environ())
	r.process = newSession(r.command)
	in, e1 := r.command.StdinPipe()
	out, e2 := r.command.StdoutPipe()
	remarks, e3 := r.command.StderrPipe()
	err := errors.Join(e1, e2, e3)
	if err == nil {
		err = b.launch(r.command)
	}
	if err != nil {
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
		b.copy(link.KindExecOutput, e.Number, from)
	})
	streams.Go(func() { b.copy(link.KindExecRemark, e.Number, remarks) })
	b.running.Go(func() {
		streams.Wait()
		err := r.command.Wait()
		b.mu.Lock()
		delete(b.list, e.Number)
		b.mu.Unlock()
		r.process.close()
		how := "it has ended"
		if s := r.command.ProcessState; s != nil {
			how = s.String()
		} else if err != nil && !errors.Is(err, unix.ECHILD) { // the agent collects all its children
			how = err.Error()
		}
		b.end(e.Number, r.command.ProcessState.ExitCode(), how)
	})
}

// install sends gorun to the shell that a command reaches. What the shell says in place of its
// line is passed on, as gorun reads the answers; gorun writes nothing to it before it has one.
func (b *branches) install(e link.Exec, from *bufio.Reader, to io.Writer) {
	err := install(from, to, e.Gorun)
	var noise *link.NoiseError
	switch {
	case errors.As(err, &noise):
		b.conn.Send(link.KindExecOutput, link.Numbered(e.Number), noise.Said, []byte("\n"))
	case err != nil && !errors.Is(err, io.EOF):
		b.conn.Send(link.KindExecRemark, link.Numbered(e.Number), []byte(err.Error()+"\n"))
	}
	if r := b.find(e.Number); err != nil && r != nil {
		r.process.kill()
	}
}

func (b *branches) end(number, code int, how string) {
	b.conn.Send(link.KindExecEnd, link.Encode(link.ExecEnd{Number: number, Code: code, Text: how}))
}

// launch starts a command on a thread that lives as long as the agent: the command gets its
// death signal when the thread ends.
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

// copy passes on a stream of a command, no faster than gorun reads it.
func (b *branches) copy(k link.Kind, number int, from io.Reader) {
	buf := make([]byte, link.ChunkBytesMax)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			b.conn.Room()
			b.conn.Send(k, link.Numbered(number), buf[:n])
		}
		if err != nil {
			return
		}
	}
}

// input is the standard input of a command. It ends with an empty write.
type input struct{ to io.WriteCloser }

// Write implements io.Writer.
func (i *input) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, i.to.Close()
	}
	return i.to.Write(p)
}

// kill kills every process of the job on this host. The commands that reach hosts below may
// be among them: while these run, only the ranks are killed, and the end does the rest.
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

// unlessLost calls wait, and returns early when gorun is lost: nobody would end the wait.
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
