package inspection

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gorun-hpc/gorun/internal/flight"
)

// logFormat is the format of a line in the table of operations.
const logFormat = "%10s  %-9s %-7s %8s %10s %9s  %-20s %s"

// Table returns the log as a table of all operations. The operations are sorted by the time at which they
// entered their state, the newest last. The first column is the time from the entry into the state to
// Log.Time.
func (l *Log) Table() string {
	return strings.Join(append(l.Heading(), l.Lines()...), "\n") + "\n"
}

// Heading returns the two lines above the lines of the operations.
func (l *Log) Heading() []string {
	return []string{
		fmt.Sprintf("rank %d: %d operations, the newest last", l.Rank, len(l.Messages)+len(l.Operations)),
		fmt.Sprintf(logFormat, "ago", "state", "peer", "tag", "bytes", "comm", "operation", "at"),
	}
}

// Lines returns one line for each operation, the newest last.
func (l *Log) Lines() []string {
	list := slices.Concat(l.Messages, l.Operations)
	slices.SortStableFunc(list, func(a, b flight.Operation) int { return a.Changed.Compare(b.Changed) })
	lines := make([]string, 0, len(list))
	for _, o := range list {
		lines = append(lines, strings.TrimRight(l.line(o), " "))
	}
	return lines
}

func (l *Log) line(o flight.Operation) string {
	peer, tag, communicator := "any", "any", "world"
	switch {
	case o.Peer >= 0:
		peer = fmt.Sprint(o.Peer)
	case !o.Message:
		peer = "-"
	}
	switch {
	case !o.Message:
		tag = fmt.Sprint("call ", o.Tag)
	case o.Tag >= 0:
		tag = fmt.Sprint(o.Tag)
	}
	if o.Communicator != 0 {
		communicator = fmt.Sprint(o.Communicator)
	}
	at := o.Site
	if o.Caller != "" {
		at += ", called at " + o.Caller
	}
	ago := l.Time.Sub(o.Changed).Round(time.Millisecond)
	return fmt.Sprintf(logFormat, ago, o.State, peer, tag, fmt.Sprint(o.Bytes), communicator, o.Op, at)
}
