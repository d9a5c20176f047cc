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
// frame. The format of the preamble never changes.
const Protocol = 11

// preambleName is the prefix of the preamble. It distinguishes an agent from other programs.
const preambleName = "gorun-agent"

// preambleBytesMax bounds the length of a preamble.
const preambleBytesMax = 256

// NoiseError is the error for bytes that arrive in place of a preamble (ReadPreamble), or in place of the
// answer of the shell to which gorun is copied.
type NoiseError struct {
	// Said holds the first of these bytes.
	Said []byte
}

// Error implements error.
func (e *NoiseError) Error() string {
	return fmt.Sprintf("got %q in place of an agent's preamble", e.Said)
}

// Preamble returns the first bytes that an agent sends. They are a line of text, by which every
// version of gorun can identify the agent's version.
func Preamble(version string) []byte {
	return fmt.Appendf(nil, "%s %d %s\n", preambleName, Protocol, strings.ReplaceAll(version, "\n", " "))
}

// ReadPreamble reads the preamble of an agent and returns its protocol and version. The error is a
// *NoiseError if the bytes are not a preamble. At the end of the stream it is io.EOF, or
// io.ErrUnexpectedEOF after a part of a preamble.
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
