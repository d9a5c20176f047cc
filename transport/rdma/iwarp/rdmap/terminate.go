package rdmap

import (
	"encoding/binary"
	"fmt"

	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/ddp"
)

// The layers that a Terminate message can name (RFC 5040 section 4.8).
const (
	LayerRDMAP = 0
	LayerDDP   = 1
	LayerLLP   = 2 // MPA
)

// Code is the reason of a Terminate message. It consists of the layer (4 bits), the error type (4
// bits) and the error code (8 bits).
type Code struct {
	Layer, Type, Code uint8
}

// String returns the code as "layer/type/code".
func (c Code) String() string { return fmt.Sprintf("%d/%d/%02x", c.Layer, c.Type, c.Code) }

const (
	// TerminateLength is the length of a Terminate message without the headers that it can include.
	TerminateLength = 4
	// TerminateLengthMax is the length of the longest Terminate message.
	TerminateLengthMax = TerminateLength + segmentLength + ddp.UntaggedLength + ReadRequestLength

	segmentLength = 2

	flagLength = 0x80 // M
	flagDDP    = 0x40 // D
	flagRDMAP  = 0x20 // R

	// The flags as siw sends them from a little-endian host.
	swappedLength = 0x01
	swappedDDP    = 0x02
	swappedRDMAP  = 0x04
)

// Terminate is the message by which its sender ends the stream. It contains the reason, and quotes
// the headers of the segment that violates the protocol (RFC 5040 section 4.8). It is the last
// message of its direction.
//
//	octet 0   0xf0 layer, 0x0f error type
//	octet 1   error code
//	octet 2   0x80 M  the segment length is valid
//	          0x40 D  segment length and DDP header of the segment follow
//	          0x20 R  the Read Request follows as well
//	          0x1f    reserved, with octet 3
//	octet 4   length of the segment, 16 bit        if D
//	octet 6   its DDP header, 14 or 18 octets      if D
//	          its Read Request, 28 octets          if R
//
// The kernel's siw declares these fields as C bit-fields. Therefore siw on little-endian hosts
// swaps the two halves of octet 0, and numbers the flags from the other end of octet 2.
// ParseTerminate parses both forms.
type Terminate struct {
	// Code is the reason.
	Code Code
	// SegmentLength is the length of the segment at fault. It is valid if Header is not empty.
	SegmentLength uint16
	// Header is the DDP header of the segment at fault, 14 or 18 octets according to its T bit. It
	// is empty if the message quotes no DDP header.
	Header []byte
	// Read is the Read Request at fault, 28 octets. It is empty if the message quotes no Read
	// Request.
	Read []byte
	// Ambiguous is true if the message does not show which order of bits it has. In this case Code
	// is the code in the order of the RFC, and Other is the code in siw's order.
	Ambiguous bool
	Other     Code
}

// Append appends the message in the RFC's order of bits. Header must be empty or a whole DDP
// header, and Read must be empty or a whole Read Request.
func (m *Terminate) Append(dst []byte) []byte {
	var flags byte
	if len(m.Header) > 0 {
		flags |= flagLength | flagDDP
	}
	if len(m.Read) > 0 {
		flags |= flagRDMAP
	}
	dst = append(dst, m.Code.Layer<<4|m.Code.Type&0x0f, m.Code.Code, flags, 0)
	if len(m.Header) > 0 {
		dst = binary.BigEndian.AppendUint16(dst, m.SegmentLength)
		dst = append(dst, m.Header...)
	}
	return append(dst, m.Read...)
}

// ParseTerminate parses the message that b contains. If the error is ErrShort and b has at least
// TerminateLength octets, then the code and the complete headers are valid. Header and Read are
// parts of b.
func ParseTerminate(b []byte) (Terminate, error) {
	if len(b) < TerminateLength {
		return Terminate{}, ErrShort
	}
	high, low := b[0]>>4, b[0]&0x0f
	m := Terminate{Code: Code{Layer: high, Type: low, Code: b[1]}}
	hasLength, hasDDP, hasRDMAP := b[2]&flagLength != 0, b[2]&flagDDP != 0, b[2]&flagRDMAP != 0
	other := Code{Layer: low, Type: high, Code: b[1]}
	switch {
	case b[2]&(swappedLength|swappedDDP|swappedRDMAP) != 0 && !hasLength && !hasDDP && !hasRDMAP:
		m.Code = other
		hasDDP, hasRDMAP = b[2]&swappedDDP != 0, b[2]&swappedRDMAP != 0
	case !hasLength && !hasDDP && !hasRDMAP && high != low:
		m.Ambiguous, m.Other = true, other
	}
	rest := b[TerminateLength:]
	if hasDDP {
		if len(rest) < segmentLength+1 {
			return m, ErrShort
		}
		m.SegmentLength = binary.BigEndian.Uint16(rest)
		rest = rest[segmentLength:]
		n := ddp.Length(rest[0])
		if len(rest) < n {
			return m, ErrShort
		}
		m.Header, rest = rest[:n:n], rest[n:]
	}
	if hasRDMAP {
		if len(rest) < ReadRequestLength {
			return m, ErrShort
		}
		m.Read = rest[:ReadRequestLength:ReadRequestLength]
	}
	return m, nil
}

// RemoteError is the error of a stream that the peer has ended with a Terminate message.
type RemoteError struct {
	// Code is the reason that the peer gave.
	Code Code
	// Other is the second possible code of an ambiguous message, see Terminate.
	Other Code
	// Ambiguous reports whether Other is valid.
	Ambiguous bool
}

// Error implements error.
func (e *RemoteError) Error() string {
	text := fmt.Sprintf("rdmap: terminated by the peer: %v (%s)", e.Code, e.Code.Text())
	if e.Ambiguous {
		text += fmt.Sprintf(", or %v (%s) if it is siw", e.Other, e.Other.Text())
	}
	return text
}
