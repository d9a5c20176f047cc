package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/gorun-hpc/gorun/cmd/gorun/internal/doctor"
)

const (
	// doctorWord as the first argument makes gorun examine machines.
	doctorWord = "doctor"
	// examinedCommand as the first argument makes gorun examine the machine that it runs on. This gorun
	// sends the results through its standard streams to the gorun doctor that has started it.
	examinedCommand = "-gorun-examined"
)

// doctorFlags are the flags that gorun doctor takes.
var doctorFlags = []string{"host", "hostfile", "rsh", "agent-path", "answer-within", "net"}

const doctorUsage = `usage: gorun doctor [flags] [host ...]

Examines this machine or the given hosts: whether each host can be reached, has the same
version of gorun and can connect to all other hosts, and what on it prevents jobs or makes
them slow. Prints a line for each check, with the remedy for a fault. The exit code is 1 if
a fault prevents jobs.

flags:
`

// runDoctor executes gorun doctor and returns the exit code.
func runDoctor(args []string, out io.Writer) int {
	o, help, err := parseDoctor(args)
	switch {
	case err != nil:
		complain("doctor: %v", err)
		return exitLauncher
	case help:
		return show(out, doctorHelp())
	case o.took != "":
		complain("%s", o.took)
	}
	hosts, err := patients(o)
	if err != nil {
		complain("doctor: %v", err)
		return exitLauncher
	}
	doctor.Examine(hosts, moduleVersion(), o.answer)
	code, text := 0, new(strings.Builder)
	for _, h := range hosts {
		name := ""
		if len(o.hosts) > 0 {
			name = h.Name + ": "
		}
		for _, f := range h.Findings {
			fmt.Fprintln(text, name+strings.ReplaceAll(f.String(), "\n", "\n"+name))
			if f.Level == doctor.Fail {
				code = 1
			}
		}
	}
	if c := show(out, text.String()); c != 0 {
		return c
	}
	return code
}

// doctorHelp returns the text of gorun doctor -h.
func doctorHelp() string {
	text := doctorUsage
	for _, f := range flags {
		if slices.Contains(doctorFlags, f.names[0]) {
			text += f.line()
		}
	}
	return text
}

// parseDoctor parses the command line after doctorWord. help is true for -h.
func parseDoctor(args []string) (o *options, help bool, err error) {
	o = &options{answer: answerDefault}
	for len(args) > 0 {
		name, _, _ := strings.Cut(strings.TrimLeft(args[0], "-"), "=")
		switch {
		case !strings.HasPrefix(args[0], "-"):
			if err := setHosts(o, nil, args[0]); err != nil {
				return o, false, fmt.Errorf("%s: %w", args[0], err)
			}
			args = args[1:]
		case name == "h" || name == "help":
			return o, true, nil
		case !slices.Contains(doctorFlags, name):
			return o, false, fmt.Errorf("unknown flag -%s (gorun doctor -h lists the flags)", name)
		default:
			if args, err = parseFlag(o, nil, args); err != nil {
				return o, false, err
			}
		}
	}
	return o, false, o.findHosts(os.Getenv)
}

// patients returns the hosts to examine.
func patients(o *options) ([]*doctor.Host, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	path := o.agentPath
	if path == "" {
		path = self
	}
	if len(o.hosts) == 0 || o.pods != nil { // a pod cannot start a command in another pod
		return []*doctor.Host{{Name: "localhost", Line: []string{self, examinedCommand, o.net}, Gorun: self, By: shellWord(self) + " -version"}}, nil
	}
	hosts := make([]*doctor.Host, 0, len(o.hosts))
	for _, h := range o.hosts {
		line := append(o.rshLine(h.name), shellWord(path), examinedCommand)
		if o.rsh == nil && isThisMachine(h.name) {
			line = []string{path, examinedCommand}
		}
		by := shellLine(line[:len(line)-1]) + " -version"
		if o.net != "" {
			line = append(line, o.net)
		}
		hosts = append(hosts, &doctor.Host{Name: h.name, Line: line, Env: o.commandEnviron(), Gorun: path, By: by})
	}
	return hosts, nil
}

// runExamined examines this machine for the gorun doctor that has started it, and returns the exit code.
func runExamined(args []string) int {
	cpus, err := allowedCPUs()
	if err == nil {
		err = doctor.Serve(os.Stdin, os.Stdout, doctor.This(len(cpus)), moduleVersion(), strings.Join(args, ","))
	}
	if err != nil && !errors.Is(err, os.ErrClosed) {
		complain("doctor: %v", err)
		return exitLauncher
	}
	return 0
}
