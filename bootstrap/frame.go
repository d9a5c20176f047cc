package bootstrap

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// kind is the kind of a frame. [Server] describes the bodies.
type kind uint8

const (
	kindCard     kind = 1 // from here on: rank to agent, unless noted otherwise
	kindFence    kind = 2
	kindAbort    kind = 3
	kindFinalize kind = 4
	kindReport   kind = 5
	kindFailed   kind = 6
	kindHandled  kind = 7
	kindCards    kind = 8 // relay to server, for its ranks
	kindStalled  kind = 9
	kindVote     kind = 10
	kindRevoke   kind = 11
	kindPoll     kind = 12 // relay to server, for its ranks
	kindRejoin   kind = 13

	kindBook      kind = 16 // from here on: agent to rank, unless noted otherwise
	kindFenceDone kind = 17
	kindPeerDown  kind = 18
	kindDump      kind = 19
	kindEnd       kind = 20
	kindPacked    kind = 21 // server to relay
	kindShelved   kind = 22 // agent to rank
	kindDecided   kind = 23
	kindRevoked   kind = 24
	kindRenew     kind = 25
)

const (
	frameHeader = 5 // bytes of length and kind
	// reportBytesMax is the largest length of the text of a report, an abort or a notice, in bytes.
	reportBytesMax = 64 << 10
	// rankFrameMax is the largest length of kind and body of a frame that a rank may send.
	rankFrameMax = 1 + 4 + reportBytesMax
	// agentFrameMost bounds the result of agentFrameMax.
	agentFrameMost = 1 << 30
)

// agentFrameMax returns the largest length of kind and body of a frame that an agent may send to a rank of a
// world of size ranks. The longest frames are a frame with a text of reportBytesMax bytes, and a frame with
// the book. The agent sends the book in a frame if the node has no shelf that can hold the book.
func agentFrameMax(size int) int { return min(agentFrameMost, rankFrameMax+bookBytesMax(size)) }

// appendFrame appends one frame: the length of kind and body (4 bytes, little endian), the kind (1 byte), and
// the body.
func appendFrame(dst []byte, k kind, body []byte) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, uint32(1+len(body)))
	dst = append(dst, byte(k))
	return append(dst, body...)
}

// growStep is the largest number of bytes by which readFrame grows the memory of a body before these bytes
// have arrived.
const growStep = 1 << 20

// readFrame reads one frame, whose kind and body have at most limit bytes. The caller owns the body. The
// error is io.EOF if the stream ends between two frames, and io.ErrUnexpectedEOF if the stream ends within a
// frame.
func readFrame(r *bufio.Reader, limit int) (kind, []byte, error) {
	var header [frameHeader]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return 0, nil, err
	}
	n := int64(binary.LittleEndian.Uint32(header[:]))
	if n < 1 || n > int64(limit) {
		return 0, nil, fmt.Errorf("bootstrap: frame of %d bytes, at most %d allowed: %w", n, limit, ErrMalformed)
	}
	left := int(n - 1)
	var body []byte
	for left > 0 {
		step := min(left, growStep)
		at := len(body)
		body = append(body, make([]byte, step)...)
		if _, err := io.ReadFull(r, body[at:]); err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return 0, nil, err
		}
		left -= step
	}
	return kind(header[4]), body, nil
}

// numbered returns a body that consists of a number and a text, as frames of many kinds have. numbered cuts
// the text to reportBytesMax bytes.
func numbered(n int, text string) []byte {
	body := binary.LittleEndian.AppendUint32(nil, uint32(int32(n)))
	return append(body, clip(text, reportBytesMax)...)
}

// parseNumbered is the inverse of numbered.
func parseNumbered(b []byte) (n int, text string, err error) {
	if len(b) < 4 || len(b) > 4+reportBytesMax {
		return 0, "", fmt.Errorf("bootstrap: body of %d bytes: %w", len(b), ErrMalformed)
	}
	return int(int32(binary.LittleEndian.Uint32(b))), string(b[4:]), nil
}

// failed returns the body of a failed frame. origin is the rank that has caused the failure. lost is the rank
// whose loss the error names, or -1. text is the text of the error.
func failed(origin, lost int, text string) []byte {
	return numbered(origin, string(binary.LittleEndian.AppendUint32(nil, uint32(int32(lost))))+text)
}

// parseFailed is the inverse of failed. The only negative number that it accepts for lost is -1.
func parseFailed(b []byte) (origin, lost int, text string, err error) {
	if origin, text, err = parseNumbered(b); err != nil {
		return 0, 0, "", err
	}
	if lost, text, err = parseNumbered([]byte(text)); err != nil {
		return 0, 0, "", err
	}
	if lost < -1 {
		err = fmt.Errorf("bootstrap: loss of rank %d: %w", lost, ErrMalformed)
	}
	return origin, lost, text, err
}
