package main

import (
	"bytes"
	"fmt"
	"os"
)

// haltOf returns the state of a process that is stopped, as in /proc/PID/stat (proc(5)): "T" if a signal has
// stopped it, "t" if a debugger has, "D" if it waits uninterruptibly in the kernel. Otherwise it returns "".
func haltOf(pid int) string {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "" // the process has ended
	}
	// The state follows the name, which may have any characters, in parentheses.
	_, state, found := bytes.Cut(stat[bytes.LastIndexByte(stat, ')')+1:], []byte(" "))
	if !found || len(state) == 0 || bytes.IndexByte([]byte("TtD"), state[0]) < 0 {
		return ""
	}
	return string(state[:1])
}
