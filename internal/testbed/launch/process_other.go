//go:build !linux

package launch

import "os/exec"

// group does nothing, because jobs with several processes run only on Linux.
func group(*exec.Cmd) {}

// Marked returns no processes.
func Marked(string) []int { return nil }

func kill(int) {}
