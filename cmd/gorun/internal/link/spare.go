package link

import "fmt"

// Spare orders an agent to start one more spare process, which waits to take the place of a lost rank.
type Spare struct {
	Program int // index in the plan's programs
}

// SpareEnded reports that a spare process could not be started, or that it has ended before it took the place
// of a rank.
type SpareEnded struct {
	Program int
	Text    Text // how it ended, or why it could not be started
}

func (s Spare) check() error { return checkSpare(s.Program) }

func (s SpareEnded) check() error { return checkSpare(s.Program) }

func checkSpare(program int) error {
	if program < 0 {
		return fmt.Errorf("spare of program %d: the index is negative", program)
	}
	return nil
}
