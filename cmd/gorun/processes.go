package main

import (
	"bytes"
	"os"
	"strconv"
)

// nodeProcesses returns the processes of the node with this ID: the processes that have the variable of the
// node's agent in their environment, and the children of this process. The children are ranks, spares, orphans that
// this process has adopted, and commands that start agents on other hosts. nodeProcesses leaves out this process and
// its watchdog.
func nodeProcesses(id string) []int {
	self := os.Getpid()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var found []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == self || pid == watchdogPID {
			continue
		}
		parent, alive := processParent(pid)
		if alive && (parent == self || hasVariable(pid, agentVariable(id))) {
			found = append(found, pid)
		}
	}
	return found
}

// processParent returns the parent of a process. It returns false for a zombie and for a process
// that does not exist.
func processParent(pid int) (int, bool) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, false
	}
	return statParent(stat)
}

// statParent parses the contents of /proc/PID/stat for processParent.
func statParent(stat []byte) (int, bool) {
	fields := statFields(stat)
	if len(fields) < 2 || fields[0][0] == 'Z' || fields[0][0] == 'X' {
		return 0, false
	}
	parent, err := strconv.Atoi(string(fields[1]))
	return parent, err == nil
}

// statFields returns the fields of the contents of /proc/PID/stat after the name of the executable, which is in
// parentheses and may contain any character (proc(5)). The first field is the state.
func statFields(stat []byte) [][]byte {
	return bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
}

// hasVariable reports whether a process was started with variable, which has the form NAME=VALUE, in its
// environment.
func hasVariable(pid int, variable string) bool {
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return false
	}
	for v := range bytes.SplitSeq(env, []byte{0}) {
		if string(v) == variable {
			return true
		}
	}
	return false
}
