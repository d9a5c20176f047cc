package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// build builds a Go package or file if it was not built before. It shows the output of the go command.
func (p *programs) build(program string) (string, error) {
	if path, ok := p.built[program]; ok {
		return path, nil
	}
	dir, err := os.MkdirTemp(p.scratch, "program-")
	if err != nil {
		return "", fmt.Errorf("build %s: %w", program, err)
	}
	// The target of -o is a directory. The go command then rejects packages that are not commands, and
	// chooses the name of the executable itself.
	cmd := exec.Command("go", slices.Concat([]string{"build"}, p.flags, []string{"-o", dir + "/", program})...)
	if st, err := os.Stat(program); err == nil && st.IsDir() {
		cmd.Args[len(cmd.Args)-1], cmd.Dir = ".", program
	}
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = os.Stderr, io.MultiWriter(os.Stderr, &said)
	p.say("building %s: %s", program, strings.Join(cmd.Args, " "))
	if err := runUntilSignal(cmd); err != nil {
		if s, ok := errors.AsType[*interruptError](err); ok {
			return "", exitErrorf(exitSignalOffset+int(s.signal), "%w while building %s", s, program)
		}
		if errors.Is(err, exec.ErrNotFound) {
			return "", exitErrorf(exitNotFound, "%s is not an executable, and there is no go command in PATH to build it", program)
		}
		if bytes.Contains(said.Bytes(), []byte("no main packages to build")) {
			return "", exitErrorf(exitLauncher, "cannot build %s: a program is a package main, with a function main", program)
		}
		return "", exitErrorf(exitLauncher, "cannot build %s (%w)", program, err)
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 1 {
		return "", exitErrorf(exitLauncher, "%s is not a command: the build made %d files", program, len(files))
	}
	path := filepath.Join(dir, files[0].Name())
	p.built[program] = path
	return path, nil
}

// runUntilSignal runs a command in a process group of its own. If gorun receives a signal that asks it to end,
// runUntilSignal kills the group and returns an interruptError.
func runUntilSignal(cmd *exec.Cmd) error {
	signals, release := catchEnd()
	defer release()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	var err error
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		err = cmd.Wait()
	}()
	select {
	case <-ended:
		return err
	case s := <-signals:
		_ = unix.Kill(-cmd.Process.Pid, unix.SIGKILL) // fails only if no process of the group is left
		<-ended
		return &interruptError{s.(unix.Signal)}
	}
}
