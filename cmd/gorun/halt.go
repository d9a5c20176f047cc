package main

import (
	"bytes"
	"fmt"
	"os"
)

// haltOf returns the state of a process that does not run, as proc(5) has it in stat: T for one that a signal has
// stopped, t for one that a debugger has, D for one that waits in the kernel; else "".
func haltOf(pid int) string {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "" // it has ended
	}
	// The state follows the name, which may have any characters, in parentheses.
	_, state, found := bytes.Cut(stat[bytes.LastIndexByte(stat, ')')+1:], []byte(" "))
	if !found || len(state) == 0 || bytes.IndexByte([]byte("TtD"), state[0]) < 0 {
		return ""
	}
	return string(state[:1])
}
