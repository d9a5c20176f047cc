package launch

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"syscall"
)

// markName is the variable in the environment of every process of a job. Some
// launchers put ranks into sessions of their own, so a process group does not
// hold them all.
const markName = "GORUN_BENCH_JOB"

var jobs atomic.Int64

// newMark returns an entry for the environment that no other job has.
func newMark() string {
	return fmt.Sprintf("%s=%d.%d", markName, os.Getpid(), jobs.Add(1))
}

// killStray kills the processes that have the mark in their environment.
func killStray(mark string) {
	environments, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		return // the pattern is a constant
	}
	for _, name := range environments {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended, or is another user's
		}
		for entry := range bytes.SplitSeq(text, []byte{0}) {
			if string(entry) == mark {
				pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name)))
				if err == nil && pid != os.Getpid() {
					_ = syscall.Kill(pid, syscall.SIGKILL)
				}
			}
		}
	}
}
