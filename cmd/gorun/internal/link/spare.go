package link

import "fmt"

// Spare is an order to start one more process that waits for the place of a rank.
type Spare struct {
	Program int // index in the plan's programs
}

// SpareEnded says that such a process has ended before it had a place, or could not be started.
type SpareEnded struct {
	Program int
	Text    Text // what happened to it
}

func (s Spare) check() error { return checkSpare(s.Program) }

func (s SpareEnded) check() error { return checkSpare(s.Program) }

func checkSpare(program int) error {
	if program < 0 {
		return fmt.Errorf("spare of program %d", program)
	}
	return nil
}
