package journal_test

import (
	"fmt"
	goruntime "runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/internal/journal"
)

// patience ends a test that hangs.
const patience = 30 * time.Second

// pipe returns a writer that takes a line only when the test reads it, and the channel of these
// lines.
func pipe() (lines chan string, write func(string)) {
	lines = make(chan string)
	return lines, func(line string) { lines <- line }
}

// TestLogDoesNotWait checks that Log returns when nobody reads. As many lines wait as the journal
// has room for. The number of dropped lines is printed at the place where they are missing.
func TestLogDoesNotWait(t *testing.T) {
	lines, write := pipe()
	j := journal.New(write)
	const logged = 100
	for n := range logged {
		j.Log(fmt.Sprint(n))
	}
	require.False(t, j.Flush(time.Millisecond))
	for n := range 30 {
		require.Equal(t, fmt.Sprint(n), <-lines)
	}
	j.Log("later")
	// At some time the writer may hold one line. The journal then has room for one more
	// waiting line.
	next, kept := 30, 30
	for line := <-lines; line != "later"; line = <-lines {
		var dropped int
		if _, err := fmt.Sscanf(line, "%d lines were dropped here, because the output was blocked", &dropped); err == nil {
			next += dropped
			continue
		}
		require.Equal(t, fmt.Sprint(next), line)
		next, kept = next+1, kept+1
	}
	require.Equal(t, logged, next)
	require.Contains(t, []int{64, 65}, kept)
	require.True(t, j.Flush(patience))
}

// TestLastLinesAreMissed checks that dropped lines are counted in the output even if no line
// follows.
func TestLastLinesAreMissed(t *testing.T) {
	lines, write := pipe()
	taken := make(chan struct{}, 1)
	j := journal.New(func(line string) {
		if line == "first" {
			taken <- struct{}{}
		}
		write(line)
	})
	j.Log("first")
	<-taken // the queue is empty, and the writer waits
	for range 70 {
		j.Log("line")
	}
	flushed := make(chan bool)
	go func() { flushed <- j.Flush(patience) }()
	last := ""
	for done := false; !done; {
		select {
		case last = <-lines:
		case done = <-flushed:
			require.True(t, done)
		}
	}
	require.Regexp(t, `^6 lines were dropped here`, last)
}

// TestLinesKeepTheirOrder checks that the lines of each goroutine are written once and in the order of its
// calls. Two goroutines must never call the writer at the same time.
func TestLinesKeepTheirOrder(t *testing.T) {
	const writers, each = 4, 500
	var mu sync.Mutex
	next := map[int]int{}
	j := journal.New(func(line string) {
		require.True(t, mu.TryLock())
		defer mu.Unlock()
		var writer, n int
		_, err := fmt.Sscan(line, &writer, &n)
		require.NoError(t, err)
		require.Equal(t, next[writer], n)
		next[writer]++
	})
	var all sync.WaitGroup
	for writer := range writers {
		all.Go(func() {
			for n := range each {
				j.Log(fmt.Sprint(writer, n))
				if n%10 == 0 {
					j.Flush(patience)
				}
			}
		})
	}
	all.Wait()
	require.True(t, j.Flush(patience))
	mu.Lock()
	defer mu.Unlock()
	for writer := range writers {
		require.Equal(t, each, next[writer])
	}
}

// TestNothingIsLeft checks that the journal's goroutine ends after the last line and restarts for
// later lines.
func TestNothingIsLeft(t *testing.T) {
	before := goruntime.NumGoroutine()
	var got []string
	j := journal.New(func(line string) { got = append(got, line) })
	require.True(t, j.Flush(0))
	for n := range 3 {
		j.Log(fmt.Sprint(n))
		require.True(t, j.Flush(patience))
		for end := time.Now().Add(patience); goruntime.NumGoroutine() > before; goruntime.Gosched() {
			require.True(t, time.Now().Before(end), "a goroutine is left")
		}
	}
	require.Equal(t, []string{"0", "1", "2"}, got)
}

// TestWithoutAWriter checks that a journal without a writer drops its lines.
func TestWithoutAWriter(t *testing.T) {
	j := journal.New(nil)
	j.Log("line")
	require.True(t, j.Flush(0))
}
