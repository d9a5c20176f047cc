package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Exit codes of gorun itself. timeout(1) and the shells have the same exit codes.
const (
	exitTimeout      = 124
	exitLauncher     = 125
	exitNotExecuted  = 126
	exitNotFound     = 127
	exitSignalOffset = 128
)

// exitError is an error that determines gorun's exit code.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

func exitErrorf(code int, format string, args ...any) error {
	return &exitError{code, fmt.Errorf(format, args...)}
}

// exitCode returns the exit code for an error of gorun.
func exitCode(err error) int {
	if e, ok := errors.AsType[*exitError](err); ok {
		return e.code
	}
	return exitLauncher
}

// programs finds the executables of a job, and builds the programs that are Go code.
type programs struct {
	scratch string            // existing directory for the executables that are built
	built   map[string]string // paths of the executables, by program
	flags   []string          // of go build
	say     func(format string, args ...any)
}

// needsBuild reports whether a program is Go code rather than an executable.
// A bare name is looked up in PATH even if there is a directory of that name.
func needsBuild(program string) bool {
	st, err := os.Stat(program)
	if err != nil {
		return isImportPath(program)
	}
	if st.IsDir() {
		return strings.Contains(program, "/") || program == "." || program == ".."
	}
	return strings.HasSuffix(program, ".go") && st.Mode()&0o111 == 0
}

// isImportPath reports whether the name of a program can be the import path of a package, such as
// example.org/module/command. If its first element has no dot, the go command must know the package.
// The caller has found no file of this name.
func isImportPath(program string) bool {
	first, _, more := strings.Cut(program, "/")
	if !more || first == "" || first == "." || first == ".." {
		return false
	}
	return strings.Contains(first, ".") || exec.Command("go", "list", "-find", program).Run() == nil
}

// find returns the path of a program's executable. If the program is Go code, find builds the executable.
func (p *programs) find(a *app) (string, error) {
	program := a.program
	if a.goCode {
		return p.build(program)
	}
	if !strings.Contains(program, "/") {
		path, err := exec.LookPath(program)
		if err == nil || errors.Is(err, exec.ErrDot) {
			return filepath.Abs(path)
		}
		if st, e := os.Stat(program); e == nil {
			if st.IsDir() || st.Mode()&0o111 != 0 {
				return "", exitErrorf(exitNotFound, "%s: not found in PATH; did you mean ./%s?", program, program)
			}
			return "", exitErrorf(exitNotFound, "%s: not found in PATH; the file of that name here is not executable", program)
		}
		if errors.Is(err, fs.ErrPermission) {
			return "", exitErrorf(exitNotExecuted, "%s: %w", program, err)
		}
		return "", exitErrorf(exitNotFound, "%s: not found in PATH%s", cmp.Or(program, `""`), meant(program))
	}
	if _, err := os.Stat(program); err != nil {
		if errors.Is(err, fs.ErrPermission) {
			return "", exitErrorf(exitNotExecuted, "%w", err)
		}
		return "", exitErrorf(exitNotFound, "%s: no such file or directory", program)
	}
	if err := unix.Access(program, unix.X_OK); err != nil {
		return "", exitErrorf(exitNotExecuted, "%s is not executable: %w", program, err)
	}
	return filepath.Abs(program)
}

// words are words that users write in place of a flag or a command of gorun.
var words = map[string]string{
	"help": "gorun -h", "version": "gorun -version", "completion": "gorun -completion bash", "man": "gorun -man",
	"run": "gorun -np N PROGRAM", doctorWord: "gorun " + doctorWord + " (as the first word)", inspectWord: "gorun " + inspectWord + " (as the first word)",
}

// meant returns a suggestion for the name of a program that was not found, or "".
func meant(program string) string {
	best := nearest(program, slices.Sorted(maps.Keys(words)), 2)
	if best == "" || distance(program, best) > 1 { // hello is not meant as help
		return ""
	}
	return "; did you mean " + words[best] + "?"
}
