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

// Kind is the meaning of a frame. The package comment says which side sends it.
type Kind uint8

// Kinds of frames and their bodies.
const (
	KindGreet      Kind = iota + 1 // Greet
	KindHello                      // Hello
	KindProbe                      // Probe
	KindProbed                     // Probed
	KindShare                      // 4 bytes number in Greet.Programs, 4 bytes number of each command that the file is passed on to
	KindFile                       // 4 bytes number in Greet.Programs, hash: pieces of the file follow
	KindFileData                   // a piece of the file, compressed by zstd; an empty one ends it
	KindFiled                      // Filed
	KindPlan                       // Plan
	KindStarted                    // Started
	KindFailed                     // Failed
	KindUp                         // Target and one frame of a rank for bootstrap.Server.Take
	KindDown                       // frames for bootstrap.Relay.Tell
	KindOutput                     // Target and bytes of a stream
	KindOutputEnd                  // Target
	KindCredit                     // Target and Amount: so many bytes have left the window; of Stdin: of Up, of input, of files
	KindInput                      // bytes of the standard input
	KindInputEnd                   // empty
	KindSignal                     // Target and Amount: the number of the signal
	KindKill                       // empty: kill every process of the job
	KindExit                       // Exit
	KindEnd                        // empty
	KindDone                       // empty
	KindBeat                       // empty
	KindPause                      // empty
	KindExec                       // Exec: run a command that starts the agent of another host
	KindExecInput                  // 4 bytes number of the command, whole bytes for its input; none for its end
	KindExecKill                   // 4 bytes number of the command
	KindExecOutput                 // 4 bytes number of the command, bytes of its output
	KindExecRemark                 // 4 bytes number of the command, bytes of its standard error
	KindExecEnd                    // ExecEnd
	KindRenewed                    // Renewed
	KindSpare                      // Spare
	KindSpareEnded                 // SpareEnded
	KindLook                       // Look
	KindSeen                       // Seen
	kindEnd                        // one more than the last
)

const (
	frameHeader = 5
	// frameEnd is the last byte of a frame. slurmstepd keeps what a task of a job step writes
	// until the end of a line (srun(1), --unbuffered, which is no remedy: it makes a terminal).
	frameEnd = '\n'
	// FrameBytesMax bounds kind and body: a book of a very large job.
	FrameBytesMax = 1 << 30
	// WindowBytes is how much of a stream may be on its way.
	WindowBytes = 256 << 10
	// FileWindowBytes is how much of the files of a host may be on its way, through any number of
	// others.
	FileWindowBytes = 4 << 20
	// ChunkBytesMax is how much of a stream is sent at once.
	ChunkBytesMax = 32 << 10
	// growStep bounds what is allocated before the bytes have arrived.
	growStep = 1 << 20
)

// ErrMalformed is wrapped by every error about bytes that violate the protocol.
var ErrMalformed = errors.New("malformed")

// AppendFrame appends a frame with a body in parts.
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

// ReadFrame reads a frame. The body is the caller's. At the end of the stream
// the error is io.EOF, within a frame io.ErrUnexpectedEOF.
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
	for left := int(n); left > 0; { // with the end of the frame
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

// Encode returns the body of a frame that is JSON. v is one of this package's
// types, which can always be encoded.
func Encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// Decode reads such a body, and checks it if T has a method check.
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
