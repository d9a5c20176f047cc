package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/bootstrap"
)

// allowedCPUs returns the processors this process may run on, ascending.
func allowedCPUs() ([]int, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil, fmt.Errorf("sched_getaffinity: %w", err)
	}
	var cpus []int
	for i, left := 0, set.Count(); left > 0; i++ {
		if set.IsSet(i) {
			cpus = append(cpus, i)
			left--
		}
	}
	return cpus, nil
}

// bindThread restricts the calling thread to some processors. Processes that this thread starts are restricted,
// too.
func bindThread(cpus []int) error { return bindTask(0, cpus) }

// bindTask restricts the thread with ID tid, 0 for the calling one, to some processors.
func bindTask(tid int, cpus []int) error {
	var set unix.CPUSet
	for _, c := range cpus {
		set.Set(c)
	}
	if err := unix.SchedSetaffinity(tid, &set); err != nil {
		return fmt.Errorf("bind to processors %s: %w", bootstrap.FormatRanks(cpus), err)
	}
	return nil
}

// bindProcess restricts all threads of a running process to some processors. A new thread inherits the
// affinity of the thread that creates it. bindProcess therefore reads the list of threads in /proc again until
// all threads in the list have been bound. Threads that are created later are bound, too. pid is the ID of the
// process in the PID namespace of /proc. The process has to be in gorun's own PID namespace, because bindTask takes
// thread IDs of that namespace.
func bindProcess(pid int, cpus []int) error {
	for bound, found := map[string]bool{}, true; found; {
		tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
		if err != nil {
			return fmt.Errorf("threads of process %d: %w", pid, err)
		}
		found = false
		for _, task := range tasks {
			if bound[task.Name()] {
				continue
			}
			tid, err := ownID(fmt.Sprintf("/proc/%d/task/%s/status", pid, task.Name()))
			if err != nil {
				continue // the thread has ended
			}
			if err := bindTask(tid, cpus); err != nil && !errors.Is(err, unix.ESRCH) { // ESRCH: the thread has ended
				return err
			}
			bound[task.Name()], found = true, true
		}
	}
	return nil
}

// ownID returns the ID that a thread has in its own PID namespace. status is the name of the thread's status file
// (proc(5)). The line NSpid of the file lists the IDs of the thread in nested PID namespaces. The last of them is the
// ID in the thread's own namespace.
func ownID(status string) (int, error) {
	ids, err := procField(status, "NSpid")
	switch {
	case err != nil:
		return 0, err
	case ids == "":
		return strconv.Atoi(filepath.Base(filepath.Dir(status))) // a kernel without PID namespaces
	default:
		return strconv.Atoi(ids[strings.LastIndexByte(ids, '\t')+1:])
	}
}

// procField returns the value of a field of a file in /proc whose lines have the form "name:\tvalue" (proc(5)). It
// returns "" if the file does not have the field.
func procField(file, name string) (string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(text)) {
		if value, found := strings.CutPrefix(line, name+":"); found {
			return strings.TrimSpace(value), nil
		}
	}
	return "", nil
}
