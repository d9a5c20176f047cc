package link

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Kind is the kind of a frame. The package comment shows which side sends it.
type Kind uint8

// Kinds of frames and their bodies.
const (
	KindGreet      Kind = iota + 1 // Greet
	KindHello                      // Hello
	KindProbe                      // Probe
	KindProbed                     // Probed
	KindShare                      // 4 bytes index in Greet.Programs, 4 bytes number of each command that gets the file
	KindFile                       // 4 bytes index in Greet.Programs, hash; FileData of the file follow
	KindFileData                   // a piece of the file, compressed by zstd; an empty one ends the file
	KindFiled                      // Filed
	KindPlan                       // Plan
	KindStarted                    // Started
	KindFailed                     // Failed
	KindUp                         // Target, and one frame of the rank for bootstrap.Server.Take
	KindDown                       // one frame for bootstrap.Relay.Tell
	KindOutput                     // Target, and bytes of the stream
	KindOutputEnd                  // Target
	KindCredit                     // Target, Amount of further bytes that may be sent; with Stdin: of Up, input or files
	KindInput                      // bytes of the standard input
	KindInputEnd                   // empty
	KindSignal                     // Target, and the number of the signal as an Amount
	KindKill                       // empty: kill every process of the job
	KindExit                       // Exit
	KindEnd                        // empty
	KindDone                       // empty
	KindBeat                       // empty
	KindPause                      // empty
	KindExec                       // Exec
	KindExecInput                  // 4 bytes number of the command, bytes of its standard input; no bytes: end
	KindExecKill                   // 4 bytes number of the command
	KindExecOutput                 // 4 bytes number of the command, bytes of its output
	KindExecRemark                 // 4 bytes number of the command, bytes of its standard error
	KindExecEnd                    // ExecEnd
	KindRenewed                    // Renewed
	KindSpare                      // Spare
	KindSpareEnded                 // SpareEnded
	KindLook                       // Look
	KindSeen                       // Seen
	kindEnd                        // no kind: the first unused value
)

const (
	frameHeader = 5
	// frameEnd is the last byte of a frame. slurmstepd buffers the output of a job step's task until the end
	// of a line. The flag --unbuffered of srun(1) is no remedy, because it gives the task a terminal.
	frameEnd = '\n'
	// FrameBytesMax bounds the length of kind and body. The bound is large enough for the book of a very
	// large job.
	FrameBytesMax = 1 << 30
	// WindowBytes is the number of bytes of a stream that may be in flight.
	WindowBytes = 256 << 10
	// FileWindowBytes is the number of bytes of files that may be in flight to a host, through any
	// number of other hosts.
	FileWindowBytes = 4 << 20
	// ChunkBytesMax bounds the bytes of a stream in one frame.
	ChunkBytesMax = 32 << 10
	// growStep bounds the memory that ReadFrame allocates before the bytes for it have arrived.
	growStep = 1 << 20
)

// ErrMalformed is wrapped by every error about bytes that violate the protocol.
var ErrMalformed = errors.New("malformed")

// AppendFrame appends to dst a frame whose body is the concatenation of parts.
func AppendFrame(dst []byte, k Kind, parts ...[]byte) []byte {
	n := 1
	for _, p := range parts {
		n += len(p)
	}
	dst = binary.LittleEndian.AppendUint32(dst, uint32(n))
	dst = append(dst, byte(k))
	for _, p := range parts {
		dst = append(dst, p...)
	}
	return append(dst, frameEnd)
}

// ReadFrame reads a frame. The body belongs to the caller. The error is io.EOF if the stream ends before a
// frame, and io.ErrUnexpectedEOF if it ends within a frame. For a malformed frame, the error wraps
// ErrMalformed.
func ReadFrame(r *bufio.Reader) (Kind, []byte, error) {
	var header [frameHeader]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return 0, nil, err
	}
	n, k := int64(binary.LittleEndian.Uint32(header[:])), Kind(header[4])
	if n < 1 || n > FrameBytesMax || k == 0 || k >= kindEnd {
		return 0, nil, fmt.Errorf("frame of kind %d and %d bytes: %w", k, n, ErrMalformed)
	}
	var body []byte
	for left := int(n); left > 0; { // n bytes are the body and the end of the frame: the kind has been read
		at, step := len(body), min(left, growStep)
		body = append(body, make([]byte, step)...)
		if _, err := io.ReadFull(r, body[at:]); err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return 0, nil, err
		}
		left -= step
	}
	if body[n-1] != frameEnd {
		return 0, nil, fmt.Errorf("frame of kind %d and %d bytes ends with %#x: %w", k, n, body[n-1], ErrMalformed)
	}
	return k, body[:n-1], nil
}

// Encode returns v as the JSON body of a frame. v must have one of this package's types. All values of these
// types can be encoded.
func Encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// Decode parses a JSON body, and validates the result if T has a method check. The errors wrap ErrMalformed.
func Decode[T any](body []byte) (T, error) {
	var v T
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(&v); err != nil {
		return v, fmt.Errorf("%T: %w: %w", v, ErrMalformed, err)
	}
	if d.More() {
		return v, fmt.Errorf("%T: more than one value: %w", v, ErrMalformed)
	}
	if c, ok := any(v).(interface{ check() error }); ok {
		if err := c.check(); err != nil {
			return v, fmt.Errorf("%T: %w: %w", v, ErrMalformed, err)
		}
	}
	return v, nil
}
