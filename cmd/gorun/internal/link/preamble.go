package link

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Protocol is the version of this protocol. It changes with every change of a
// frame; the preamble never changes.
const Protocol = 10

// preambleName starts the preamble, which tells an agent from other programs.
const preambleName = "gorun-agent"

// preambleBytesMax bounds a preamble.
const preambleBytesMax = 256

// NoiseError is the error of ReadPreamble about bytes that no agent sends.
type NoiseError struct {
	// Said is the start of the bytes that arrived instead.
	Said []byte
}

// Error implements error.
func (e *NoiseError) Error() string {
	return fmt.Sprintf("got %q in place of an agent's preamble", e.Said)
}

// Preamble returns the first bytes an agent sends: a line of text, so that any
// version of gorun understands which one it has before it.
func Preamble(version string) []byte {
	return fmt.Appendf(nil, "%s %d %s\n", preambleName, Protocol, strings.ReplaceAll(version, "\n", " "))
}

// ReadPreamble reads the line of an agent and returns its protocol and version.
// The error is a *NoiseError if the bytes are not those of an agent, and io.EOF or
// io.ErrUnexpectedEOF at the end of the stream.
func ReadPreamble(r *bufio.Reader) (protocol int, version string, err error) {
	var line []byte
	for len(line) < preambleBytesMax {
		b, err := r.ReadByte()
		if errors.Is(err, io.EOF) && len(line) > 0 {
			if !bytes.HasPrefix([]byte(preambleName+" "), line) && !bytes.HasPrefix(line, []byte(preambleName+" ")) {
				return 0, "", &NoiseError{Said: line}
			}
			return 0, "", io.ErrUnexpectedEOF
		}
		if err != nil {
			return 0, "", err
		}
		if b == '\n' {
			break
		}
		line = append(line, b)
	}
	rest, ok := strings.CutPrefix(string(line), preambleName+" ")
	number, version, two := strings.Cut(rest, " ")
	protocol, err = strconv.Atoi(number)
	if !ok || !two || err != nil || len(line) == preambleBytesMax {
		return 0, "", &NoiseError{Said: line}
	}
	return protocol, version, nil
}
