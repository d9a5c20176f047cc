package watchdog

// Command is the first argument of a watchdog. Its orders follow.
const Command = "-gorun-watchdog"

const (
	// FD is the descriptor of the pipe that a watchdog reads, in blocking mode.
	FD = 3
	// Clean is what gorun writes to the pipe before an orderly end.
	Clean = 'c'
)
