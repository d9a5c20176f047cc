package main

import (
	"fmt"
	"os"
	"strconv"
	"time"
)

// timeFormat is the format of the times of -timestamp and %t.
const timeFormat = "15:04:05.000"

// layout is the format of lines of output.
type layout struct {
	pattern string // of the tag, as in -prefix; "" for no tags
	width   int    // number of digits of the largest rank
}

// newLayout returns the layout that the flags ask for.
func newLayout(o *options, size int) layout {
	l := layout{pattern: o.prefix, width: len(strconv.Itoa(size - 1))}
	if l.pattern == "" && o.label {
		l.pattern = "[%r] "
	}
	if o.timestamp {
		l.pattern = "%t " + l.pattern
	}
	return l
}

func (l layout) tagged() bool { return l.pattern != "" }

// origin identifies the process that writes a stream, for tags.
type origin struct {
	rank, local int
	host        string
	pid         int
}

// origin returns the origin of the output of the rank's current process.
func (r *rank) origin() origin { return origin{r.number, r.local, r.host, r.pid} }

// tag returns a function that appends the tag of a rank's stream, or nil if lines have no tags. tag formats
// all parts in advance, except the time.
func (l layout) tag(from origin, which stream) func([]byte, time.Time) []byte {
	if !l.tagged() {
		return nil
	}
	var parts []string // the parts before each time
	part := []byte{}
	for i := 0; i < len(l.pattern); i++ {
		if l.pattern[i] != '%' {
			part = append(part, l.pattern[i])
			continue
		}
		i++ // setPrefix has checked that % is followed by one of the characters below
		switch l.pattern[i] {
		case 'r':
			part = fmt.Appendf(part, "%*d", l.width, from.rank)
		case 'l':
			part = fmt.Appendf(part, "%*d", l.width, from.local)
		case 'h':
			part = append(part, from.host...)
		case 'p':
			part = strconv.AppendInt(part, int64(from.pid), 10)
		case 's':
			part = append(part, which.String()...)
		case 't':
			parts = append(parts, string(part))
			part = part[:0]
		case '%':
			part = append(part, '%')
		}
	}
	last := string(part)
	return func(dst []byte, now time.Time) []byte {
		for _, p := range parts {
			dst = append(dst, p...)
			dst = now.AppendFormat(dst, timeFormat)
		}
		return append(dst, last...)
	}
}

// hostname returns the kernel's name of this machine, or localhost after an error. gorun shows this name to users and
// passes it to ranks, but never resolves it.
func hostname() string {
	name, err := os.Hostname()
	if err != nil {
		return "localhost"
	}
	return name
}
