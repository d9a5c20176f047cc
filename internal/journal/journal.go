package journal

import (
	"fmt"
	"sync"
	"time"
)

// linesMax bounds the lines that wait to be written.
const linesMax = 64

// Journal is a queue of lines and the goroutine that writes them. It is safe for concurrent
// use; a nil one drops everything.
type Journal struct {
	write func(line string)

	// mu guards the fields below it. Nothing is locked under it, nor written.
	mu    sync.Mutex
	lines []string
	// dropped counts the lines that did not fit since the last one that did.
	dropped int
	// done is closed when all is written; it is nil if nothing is queued.
	done chan struct{}
}

// New returns a journal whose lines are passed to write, in order and one at a time. It
// returns nil if write is nil.
func New(write func(line string)) *Journal {
	if write == nil {
		return nil
	}
	return &Journal{write: write}
}

// Log has a line written soon. It never waits.
func (j *Journal) Log(line string) {
	if j == nil {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.lines) >= linesMax {
		j.dropped++
		return
	}
	j.confess()
	j.lines = append(j.lines, line)
	if j.done == nil {
		j.done = make(chan struct{})
		go j.run()
	}
}

// confess adds a line about the lines that were dropped.
func (j *Journal) confess() {
	if j.dropped > 0 {
		j.lines = append(j.lines, fmt.Sprintf("%d lines were dropped here, because the output was blocked", j.dropped))
		j.dropped = 0
	}
}

// run writes until there is nothing to write.
func (j *Journal) run() {
	for line, ok := j.next(); ok; line, ok = j.next() {
		j.write(line)
	}
}

// next takes the oldest line. Without one the writer ends.
func (j *Journal) next() (line string, ok bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.lines) == 0 {
		j.confess()
	}
	if len(j.lines) == 0 {
		close(j.done)
		j.done = nil
		return "", false
	}
	line = j.lines[0]
	j.lines = j.lines[1:]
	return line, true
}

// Flush waits until all is written, but not longer than most. It returns false when
// something was not.
func (j *Journal) Flush(most time.Duration) bool {
	if j == nil {
		return true
	}
	j.mu.Lock()
	done := j.done
	j.mu.Unlock()
	if done == nil {
		return true
	}
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}
