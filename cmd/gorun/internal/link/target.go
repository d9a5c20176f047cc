package link

import (
	"encoding/binary"
	"fmt"
)

// Target identifies a rank of the job and, in frames about a stream, one of the rank's streams.
//
// Its encoding is the rank (4 bytes, little endian) and the stream (1 byte).
type Target struct {
	Rank   int
	Stream Stream
}

// Stream is one of the standard streams of a rank.
type Stream uint8

// The streams, numbered by their usual descriptors.
const (
	Stdin Stream = iota
	Stdout
	Stderr
)

const targetBytes = 5

// Append appends the encoded target.
func (t Target) Append(dst []byte) []byte {
	return append(binary.LittleEndian.AppendUint32(dst, uint32(t.Rank)), byte(t.Stream))
}

// ParseTarget decodes the target at the beginning of a body. It also returns the rest of the body,
// which refers to the memory of body.
func ParseTarget(body []byte) (Target, []byte, error) {
	if len(body) < targetBytes {
		return Target{}, nil, fmt.Errorf("target in %d bytes: %w", len(body), ErrMalformed)
	}
	t := Target{Rank: int(binary.LittleEndian.Uint32(body)), Stream: Stream(body[4])}
	if t.Rank > 1<<31-1 || t.Stream > Stderr {
		return Target{}, nil, fmt.Errorf("stream %d of rank %d: %w", t.Stream, t.Rank, ErrMalformed)
	}
	return t, body[targetBytes:], nil
}

// Amount returns the encoded number that follows a target.
func Amount(n int) []byte { return binary.LittleEndian.AppendUint32(nil, uint32(n)) }

// ParseAmount decodes a body that consists of a target and a number.
func ParseAmount(body []byte) (Target, int, error) {
	t, rest, err := ParseTarget(body)
	if err != nil {
		return t, 0, err
	}
	if len(rest) != 4 {
		return t, 0, fmt.Errorf("number of %d bytes: %w", len(rest), ErrMalformed)
	}
	n := int(binary.LittleEndian.Uint32(rest))
	if n > 1<<31-1 {
		return t, 0, fmt.Errorf("number %d: %w", n, ErrMalformed)
	}
	return t, n, nil
}
