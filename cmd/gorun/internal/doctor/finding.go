package doctor

import (
	"fmt"
	"strings"
)

// Level is the severity of a finding.
type Level int

// The levels. A fault of level Fail prevents jobs. A fault of level Warn prevents only some jobs, makes jobs
// slower, or has other consequences, such as wrong times in logs.
const (
	OK Level = iota
	Warn
	Fail
)

// String returns the name of the level, padded to the width of the longest name.
func (l Level) String() string {
	return [...]string{"ok  ", "warn", "FAIL"}[min(max(l, OK), Fail)]
}

// Finding is the result of one check.
type Finding struct {
	Level  Level
	Check  string // a word or two that name the subject of the check
	Text   string
	Remedy string `json:",omitempty"` // what the user can do; "" if nothing
}

// String returns a line with the level, the check, the first line of the text and the remedy, followed by the other
// lines of the text.
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

// ok, warn and fail return a finding of their level.
func ok(check, format string, args ...any) Finding {
	return Finding{OK, check, fmt.Sprintf(format, args...), ""}
}

func warn(check, remedy, format string, args ...any) Finding {
	return Finding{Warn, check, fmt.Sprintf(format, args...), remedy}
}

func fail(check, remedy, format string, args ...any) Finding {
	return Finding{Fail, check, fmt.Sprintf(format, args...), remedy}
}
