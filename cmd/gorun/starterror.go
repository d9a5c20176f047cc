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

// missing says which file is missing if a program cannot be started: the program, or the interpreter that its
// first line names.
func missing(program string) string {
	name, script := interpreter(program)
	switch {
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
