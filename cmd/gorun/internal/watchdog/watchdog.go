package watchdog

// Command is the first argument of a watchdog process. The watchdog's orders follow.
const Command = "-gorun-watchdog"

const (
	// FD is the descriptor of the pipe from which a watchdog reads. The pipe is in blocking mode.
	FD = 3
	// Clean is the byte that gorun writes to the pipe before it ends in an orderly way.
	Clean = 'c'
)
