package main

import (
	"bytes"
	"fmt"
	"os"
)

// haltOf returns the letter of the state of a process in /proc/PID/stat (proc(5)) if the process cannot run.
// The letter is "T" if a signal has stopped the process, "t" if a debugger has stopped it, and "D" if it waits
// uninterruptibly in the kernel. For other states, haltOf returns "".
func haltOf(pid int) string {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "" // the process has ended
	}
	// The state follows the name of the executable. The name is in parentheses and may contain any character.
	_, state, found := bytes.Cut(stat[bytes.LastIndexByte(stat, ')')+1:], []byte(" "))
	if !found || len(state) == 0 || bytes.IndexByte([]byte("TtD"), state[0]) < 0 {
		return ""
	}
	return string(state[:1])
}
