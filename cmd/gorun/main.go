package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	_ "github.com/gorun-hpc/gorun/cmd/gorun/internal/linux"
	"github.com/gorun-hpc/gorun/cmd/gorun/internal/printable"
	"github.com/gorun-hpc/gorun/cmd/gorun/internal/watchdog"
)

func main() {
	args := os.Args[1:]
	if len(args) > 0 && args[0] == watchdog.Command {
		os.Exit(watchOver(args[1:]))
	}
	os.Exit(run(args))
}

// anchorTemporary makes a relative TMPDIR absolute, because gorun, the go command, the watchdog and the ranks have
// different working directories.
func anchorTemporary() {
	if dir := os.Getenv("TMPDIR"); dir != "" {
		_ = os.Setenv("TMPDIR", anchored(dir)) // a value of the environment is always valid
	}
}

// anchored returns the absolute form of a relative path. It returns an absolute path and "" unchanged, and also a
// relative path if the working directory was removed.
func anchored(path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	if absolute, err := filepath.Abs(path); err == nil {
		return absolute
	}
	return path
}

// run executes the command line and returns the exit code.
func run(args []string) int {
	anchorTemporary()
	scratch, inside := "", len(args) > 1 && args[0] == insideCommand
	if inside {
		scratch, args = args[1], args[2:]
		endWithOutside()
	}
	if len(args) > 0 && args[0] == agentCommand {
		if len(args) > 1 {
			scratch = anchored(args[1]) // installScript makes a relative path if TMPDIR is relative on this host
		}
		return runAgent(scratch, inside)
	}
	if len(args) > 0 && args[0] == doctorWord {
		return runDoctor(args[1:], os.Stdout)
	}
	if len(args) > 0 && args[0] == inspectWord {
		return runInspect(args[1:], os.Stdout)
	}
	if len(args) > 0 && args[0] == examinedCommand {
		return runExamined(args[1:])
	}
	o, err := parseOptions(args, os.LookupEnv)
	switch {
	case err != nil:
		complain("%v", err)
		return exitLauncher
	case o.informs():
		return show(os.Stdout, information(o))
	case o.manifest:
		text, err := printManifest(o, args)
		if err != nil {
			complain("%v", err)
			return exitLauncher
		}
		return show(os.Stdout, text)
	case o.pods != nil && o.pods.Index > 0:
		return joinPods(o)
	case o.took != "":
		complain("%s", o.took)
	}
	j, err := newJob(o, scratch, inside)
	if err != nil {
		complain("%v", err)
		return exitCode(err)
	}
	code, err := j.launch(args)
	if err != nil {
		complain("%v", err)
		return exitCode(err)
	}
	return code
}

// information returns the text that a flag such as -h asks for in place of a job.
func information(o *options) string {
	switch {
	case o.help:
		return usage()
	case o.completion != "":
		return completion()
	case o.man:
		return manual()
	default:
		return version() + "\n"
	}
}

// complaint begins each line of gorun's own messages on standard error. The output of ranks and of the go command
// has no such prefix.
const complaint = "gorun: "

// complain prints a message of gorun itself.
func complain(format string, args ...any) {
	text := printable.Text(fmt.Sprintf(format, args...))
	// The message is one write, so that lines of gorun and of ranks do not mix.
	_ = writeAll(os.Stderr, []byte(complaint+strings.ReplaceAll(text, "\n", "\n"+complaint)+"\n"))
}

// signed returns the name of a rank, followed by the rank's report. If the report already begins with the name
// and a space or a colon, signed returns only the report. In both cases, newlines at the end of the report are removed.
func signed(rank int, text string) string {
	text = strings.TrimRight(text, "\n")
	name := fmt.Sprintf("rank %d", rank)
	if strings.HasPrefix(text, name+" ") || strings.HasPrefix(text, name+":") {
		return text
	}
	return name + ": " + text
}

// show writes a text and returns the exit code.
func show(out io.Writer, text string) int {
	if _, err := io.WriteString(out, text); err != nil {
		complain("the output is incomplete: %v", err)
		return exitLauncher
	}
	return 0
}
