package doctor

import (
	"fmt"
	"strings"
)

// Level says how bad a finding is.
type Level int

// The levels: Fail prevents jobs, Warn makes them slower or prevents some of them.
const (
	OK Level = iota
	Warn
	Fail
)

// String returns the level in the width of the longest one.
func (l Level) String() string {
	return [...]string{"ok  ", "warn", "FAIL"}[min(max(l, OK), Fail)]
}

// Finding is the result of one check.
type Finding struct {
	Level  Level
	Check  string // what was looked at: a word
	Text   string
	Remedy string `json:",omitempty"` // what to do, "" if there is nothing to do
}

// String returns the line of a finding, and those of the text after its first one.
func (f Finding) String() string {
	text, more, long := strings.Cut(f.Text, "\n")
	line := fmt.Sprintf("%s  %-13s %s", f.Level, f.Check, text)
	if f.Remedy != "" {
		line += ": " + f.Remedy
	}
	if long {
		line += "\n" + more
	}
	return line
}

// ok, warn and fail make findings.
func ok(check, format string, args ...any) Finding {
	return Finding{OK, check, fmt.Sprintf(format, args...), ""}
}

func warn(check, remedy, format string, args ...any) Finding {
	return Finding{Warn, check, fmt.Sprintf(format, args...), remedy}
}

func fail(check, remedy, format string, args ...any) Finding {
	return Finding{Fail, check, fmt.Sprintf(format, args...), remedy}
}
