package inspection

import "fmt"

// haltedMost bounds the number of halted ranks that the Sentence of a report names.
const haltedMost = 4

// Halted is a rank whose process does not run.
type Halted struct {
	Rank int    `json:"rank"`
	PID  int    `json:"pid"`
	Host string `json:"host"`
	// State is the state of the process as in proc(5). T means that a signal has stopped it, and t that a
	// debugger has stopped it. D means that it waits in the kernel, and that no signal ends the wait.
	State string `json:"state"`
}

// String returns the rank's state in words and, if it is stopped by a signal, the command that continues it.
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

// word returns the Row.State of a silent rank. For the zero Halted, it returns Silent.
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
