package journal

import (
	"fmt"
	"sync"
	"time"
)

// linesMax bounds the number of queued lines.
const linesMax = 64

// Journal is a queue of lines and the goroutine that writes them. It is safe for concurrent
// use. A nil Journal drops all lines.
type Journal struct {
	write func(line string)

	// mu guards the fields below it. No other lock is acquired and no line is written while mu is held.
	mu    sync.Mutex
	lines []string
	// dropped counts the lines that Log has dropped since the last line about dropped lines.
	dropped int
	// done is closed when all queued lines are written. It is nil while run is not running.
	done chan struct{}
}

// New returns a journal that passes its lines to write, in order and one at a time. New
// returns nil if write is nil.
func New(write func(line string)) *Journal {
	if write == nil {
		return nil
	}
	return &Journal{write: write}
}

// Log enqueues a line. It never waits for the output.
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

// confess enqueues a line that states how many lines were dropped. It does nothing if no line was dropped. mu
// is held.
func (j *Journal) confess() {
	if j.dropped > 0 {
		j.lines = append(j.lines, fmt.Sprintf("%d lines were dropped here, because the output was blocked", j.dropped))
		j.dropped = 0
	}
}

// run writes lines until the queue is empty.
func (j *Journal) run() {
	for line, ok := j.next(); ok; line, ok = j.next() {
		j.write(line)
	}
}

// next dequeues the oldest line. If the queue is empty, next closes done and returns false, and run returns.
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

// Flush waits until the queue is empty and its last line is written, but not longer than the duration most.
// It returns false if most has passed before the last line was written.
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
