package main

import (
	"fmt"
	"os"
	"strings"
)

// haltOf returns the letter of the state of a process in /proc/PID/stat (proc(5)) if the process cannot run.
// The letter is "T" if a signal has stopped the process, "t" if a debugger has stopped it, and "D" if it waits
// uninterruptibly in the kernel. For other states, haltOf returns "".
func haltOf(pid int) string {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "" // the process has ended
	}
	fields := statFields(stat)
	if len(fields) == 0 || strings.IndexByte("TtD", fields[0][0]) < 0 {
		return ""
	}
	return string(fields[0])
}
