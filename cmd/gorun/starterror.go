package main

import (
	"bufio"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	goruntime "runtime"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/cmd/gorun/internal/link"
)

// startError gives an error of exec the exit code that a shell returns for that error, and the reason, if
// the file shows it.
func startError(r *rank, err error) error {
	switch {
	case errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR):
		return exitErrorf(exitNotFound, "start %s: %w (%s)", r.path, err, missing(r.path))
	case errors.Is(err, unix.ENOEXEC):
		return exitErrorf(exitNotExecuted, "start %s: %w (%s)", r.path, err, format(r.path))
	case errors.Is(err, unix.EACCES) && mountedNoexec(r.path):
		return exitErrorf(exitNotExecuted, "start %s: %w (its file system is mounted noexec: use another directory; for a program that gorun builds, set TMPDIR)", r.path, err)
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM), errors.Is(err, unix.ETXTBSY),
		errors.Is(err, unix.ELIBBAD), errors.Is(err, unix.EINVAL):
		return exitErrorf(exitNotExecuted, "start %s: %w", r.path, err)
	default:
		return fmt.Errorf("start rank %d (%s): %w", r.number, r.path, err)
	}
}

// mountedNoexec reports whether no program may be executed from the file system of a file.
func mountedNoexec(path string) bool {
	var st unix.Statfs_t
	return unix.Statfs(path, &st) == nil && st.Flags&unix.ST_NOEXEC != 0
}

// missing says which file is missing if a program cannot be started: the program, the interpreter that its first line
// names, or its dynamic loader.
func missing(program string) string {
	if _, err := os.Stat(program); err != nil {
		return "the program is not on this host"
	}
	name, script := interpreter(program)
	loader := loaderOf(program)
	switch {
	case loader != "":
		return "it needs the dynamic loader " + loader + "; a Go program that is built with CGO_ENABLED=0 needs none"
	case !script:
		return "the file, or the interpreter it names"
	case strings.HasSuffix(name, "\r"):
		return fmt.Sprintf("its first line names the interpreter %q: the lines end as on Windows", name)
	default:
		return fmt.Sprintf("its first line names the interpreter %q", name)
	}
}

// interpreter returns the interpreter that the first line of a script names.
func interpreter(program string) (name string, script bool) {
	f, err := os.Open(program)
	if err != nil {
		return "", false
	}
	defer func() { _ = f.Close() }()
	line, _ := bufio.NewReader(f).ReadString('\n') // without a newline, the whole file is the line
	line, script = strings.CutPrefix(strings.TrimSuffix(line, "\n"), "#!")
	name, _, _ = strings.Cut(strings.TrimLeft(line, " \t"), " ")
	return name, script
}

// format says what kind of file a program is that the kernel does not execute.
func format(program string) string {
	f, err := elf.Open(program)
	if err != nil {
		return "it is neither an executable of Linux nor a script whose first line begins with #!"
	}
	defer func() { _ = f.Close() }()
	return fmt.Sprintf("it is built for %v, and this host has %s", f.Machine, goruntime.GOARCH)
}

// failed returns the error of an agent that could not start its ranks.
func (h *host) failed(body []byte) error {
	f, err := link.Decode[link.Failed](body)
	if err != nil {
		return fmt.Errorf("host %s: %w", h.name, err)
	}
	hint := ""
	switch scratch := h.job.node.scratch; {
	case scratch != "" && strings.Contains(f.Text, scratch):
		hint = "\nit was built into " + scratch + ", which that host does not see: send it with -copy, build it to a directory that all hosts share (go build -o), or set TMPDIR to one"
	case f.Code == exitNotFound && h.job.opts.pods == nil && !h.job.opts.copies:
		hint = "\na program has to be on every host, at the same path: copy it there, or send it with -copy"
	}
	return exitErrorf(f.Code, "host %s: %s%s", h.name, f.Text, hint)
}
