package inspection

import "fmt"

// haltedMost bounds the ranks that do not run in the sentence of a report.
const haltedMost = 4

// Halted is a rank whose process does not run.
type Halted struct {
	Rank int    `json:"rank"`
	PID  int    `json:"pid"`
	Host string `json:"host"`
	// State is that of proc(5): T for stopped by a signal, t by a debugger, D for a wait in the kernel that no
	// signal ends.
	State string `json:"state"`
}

// String says what the process does, and what to do.
func (h Halted) String() string {
	switch h.State {
	case "T":
		return fmt.Sprintf("rank %d is stopped by a signal: kill -CONT %d on host %s continues it", h.Rank, h.PID, h.Host)
	case "t":
		return fmt.Sprintf("rank %d is stopped in a debugger (pid %d on host %s)", h.Rank, h.PID, h.Host)
	default:
		return fmt.Sprintf("rank %d waits in the kernel, as for a file system that does not answer (pid %d on host %s)", h.Rank, h.PID, h.Host)
	}
}

// word is what the process of a silent rank does, in one word.
func (h Halted) word() string {
	switch h.State {
	case "T":
		return Stopped
	case "t":
		return Debugged
	case "D":
		return InKernel
	default:
		return Silent
	}
}
