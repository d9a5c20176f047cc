package pmi

import (
	"errors"
	"fmt"
	"strings"
)

// lineBytesMax is the largest length of a line, MPICH's PMIU_MAXLINE.
const lineBytesMax = 1024

// ErrMalformed is wrapped by every error about bytes that violate the protocol.
var ErrMalformed = errors.New("malformed")

// message is a parsed line: a command and its fields.
type message struct {
	command string
	fields  map[string]string
}

// parse parses a line without its newline: "cmd=X key=value ...". A word without "=" belongs to the
// value before it, because launchers do not quote text with spaces.
func parse(line string) (message, error) {
	m := message{fields: map[string]string{}}
	last := ""
	for i, word := range strings.Fields(line) {
		name, value, ok := strings.Cut(word, "=")
		switch {
		case i == 0 && (name != "cmd" || value == ""):
			return message{}, fmt.Errorf("PMI: line %.80q does not begin with cmd=: %w", line, ErrMalformed)
		case i == 0:
			m.command = value
		case ok && name != "":
			last = name
			m.fields[name] = value
		case last != "":
			m.fields[last] += " " + word
		default:
			return message{}, fmt.Errorf("PMI: line %.80q: %w", line, ErrMalformed)
		}
	}
	if m.command == "" {
		return message{}, fmt.Errorf("PMI: empty line: %w", ErrMalformed)
	}
	return m, nil
}

// format returns the line of a request. fields are alternately names and values. format returns an error if a
// value has a byte that some launchers change, or if the line is too long.
func format(command string, fields ...string) (string, error) {
	line := "cmd=" + command
	for i := 0; i+1 < len(fields); i += 2 {
		value := fields[i+1]
		for _, c := range []byte(value) {
			if c <= ' ' || c > '~' || c == '=' || c == ';' || c == '\\' {
				return "", fmt.Errorf("PMI: value %.80q of %s: byte %#x cannot be sent", value, fields[i], c)
			}
		}
		line += " " + fields[i] + "=" + value
	}
	if len(line)+1 > lineBytesMax {
		return "", fmt.Errorf("PMI: request %s of %d bytes: at most %d", command, len(line)+1, lineBytesMax)
	}
	return line + "\n", nil
}
