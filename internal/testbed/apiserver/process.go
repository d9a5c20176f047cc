package apiserver

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"syscall"
	"testing"
)

// process is a program that runs until the test ends.
type process struct {
	command *exec.Cmd
	log     string        // path of the file with the program's output
	ended   chan struct{} // closed when the program has ended
}

// begin starts a program in a directory. The program ends when the test ends, or when this process ends.
func begin(tb testing.TB, dir, path string, arg ...string) (*process, error) {
	tb.Helper()
	p := &process{command: exec.Command(path, arg...), log: filepath.Join(dir, filepath.Base(path)+".log"), ended: make(chan struct{})}
	log, err := os.Create(p.log)
	if err != nil {
		return nil, err
	}
	p.command.Dir, p.command.Stdout, p.command.Stderr = dir, log, log
	p.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	go func() {
		goruntime.LockOSThread() // because Pdeathsig kills the program when the thread that started it ends
		defer goruntime.UnlockOSThread()
		err := p.command.Start()
		started <- err
		if err == nil {
			_ = p.command.Wait() // nobody needs the exit status
		}
		_ = log.Close()
		close(p.ended)
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	tb.Cleanup(func() {
		_ = p.command.Process.Kill()
		<-p.ended
	})
	return p, nil
}

// logBytesMax is the maximum number of bytes of a log in an error.
const logBytesMax = 2000

// failure returns an error with the end of a process's output.
func (p *process) failure() error {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err
	}
	return fmt.Errorf("%s said:\n%s", filepath.Base(p.command.Path), bytes.TrimSpace(text[max(0, len(text)-logBytesMax):]))
}
