package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/gorun-hpc/gorun/cmd/gorun/internal/watchdog"
	"github.com/gorun-hpc/gorun/internal/cgroup"
)

// The watchdog is a small process that gorun starts, and that reads a pipe from gorun (package
// watchdog). If the pipe ends without the message of an orderly end, gorun was killed. The watchdog
// then kills the processes that the job has left, and removes the files of the job.

// scratchPrefix is the start of the name of every scratch directory.
const scratchPrefix = "gorun-"

// watchdogPID is the process ID of the watchdog that was started last, 0 before the first one. It is set before any
// rank starts.
var watchdogPID int

// guardian holds gorun's end of the pipe to the watchdog.
type guardian struct{ pipe *os.File }

// startWatchdog starts the watchdog. Its orders are pairs of a flag and a value: "-cgroup DIR",
// "-job ID", "-scratch DIR".
func startWatchdog(orders []string) (*guardian, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, errors.Join(err, w.Close())
	}
	defer func() { _ = null.Close() }()
	args := append([]string{"gorun", watchdog.Command}, orders...)
	nul := null.Fd()
	// The watchdog has a session of its own, so that neither the terminal nor a kill of gorun's process group
	// reaches it. It needs no environment. With the environment of a job, gorun would take it for a process
	// of the job.
	watchdogPID, err = syscall.ForkExec("/proc/self/exe", args, &syscall.ProcAttr{
		Dir: "/", Env: []string{"GOMAXPROCS=1"}, Files: []uintptr{nul, nul, nul, r.Fd()},
		Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start the watchdog: %w", err), w.Close())
	}
	return &guardian{pipe: w}, nil
}

// dismiss ends the watchdog, which then takes no action.
func (w *guardian) dismiss() error {
	_, err := w.pipe.Write([]byte{watchdog.Clean})
	return errors.Join(err, w.pipe.Close())
}

// watchOver executes the watchdog's orders. The watchdog process calls it when gorun was killed.
func watchOver(orders []string) int {
	var err error
	for i := 0; i+1 < len(orders); i += 2 {
		switch value := orders[i+1]; orders[i] {
		case "-cgroup":
			err = errors.Join(err, cgroup.Kill(value), cgroup.Remove(value))
		case "-job":
			err = errors.Join(err, scan{id: value}.kill())
		case "-scratch":
			// Only directories that gorun has made are removed. The check of the prefix is a second
			// protection.
			if strings.HasPrefix(filepath.Base(value), scratchPrefix) {
				err = errors.Join(err, os.RemoveAll(value))
			}
		}
	}
	if err != nil {
		return 1
	}
	return 0
}
