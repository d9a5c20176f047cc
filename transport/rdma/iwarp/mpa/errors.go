package mpa

import (
	"errors"
	"fmt"
)

var (
	// ErrShort reports that the bytes are the beginning of a valid frame or FPDU. The caller reads
	// more bytes and tries again.
	ErrShort = errors.New("mpa: incomplete")
	// ErrKey reports that the bytes are not an MPA frame. The caller closes the connection without
	// an answer (RFC 5044 section 7.1.2 rules 2 and 9).
	ErrKey = errors.New("mpa: not an MPA request or reply")
	// ErrActiveActive reports that a request arrived in place of a reply, because both sides
	// connect actively (RFC 5044 section 7.1.2 rule 8).
	ErrActiveActive = errors.New("mpa: request in place of a reply")
	// ErrUnasked reports that a reply arrived in place of a request.
	ErrUnasked = errors.New("mpa: reply in place of a request")
	// ErrPrivateData reports that a received frame announces more private data than the protocol
	// allows, or that the caller wants to send more than the protocol allows.
	ErrPrivateData = errors.New("mpa: more than 512 bytes of private data")
	// ErrRevision reports that the peer uses a revision other than 1 and 2, or has answered with a
	// higher revision than this side requested.
	ErrRevision = errors.New("mpa: revision not supported")
	// ErrMarkers reports that the peer requires markers.
	ErrMarkers = errors.New("mpa: peer requires markers")
	// ErrEnhanced reports that an enhanced frame is too short for the depths, or that only one of
	// the request and the reply is enhanced.
	ErrEnhanced = errors.New("mpa: enhanced set-up is malformed")
	// ErrRejected reports that the responder has rejected the connection. The private data of the
	// reply contains the reason.
	ErrRejected = errors.New("mpa: connection rejected")
)

// FaultError is an error of the MPA layer. Its value is the error code of the Terminate message
// that reports the error, with layer 2 (LLP) and error type 0 (RFC 5044 section 8, RFC 6581 section
// 10).
type FaultError uint8

// The error codes of the MPA layer.
const (
	ErrLost         FaultError = 0x01 // TCP connection closed, terminated or lost
	ErrCRC          FaultError = 0x02 // received CRC does not match the calculated one
	ErrLength       FaultError = 0x03 // a marker or a length field does not match
	ErrFrame        FaultError = 0x04 // invalid MPA request or reply frame
	ErrLocal        FaultError = 0x05 // local catastrophic error
	ErrInsufficient FaultError = 0x06 // the initiator lacks IRD for the responder's ORD
	ErrRTR          FaultError = 0x07 // no RTR option in common
)

// Error implements error.
func (f FaultError) Error() string {
	switch f {
	case ErrLost:
		return "mpa: TCP connection lost"
	case ErrCRC:
		return "mpa: CRC mismatch"
	case ErrLength:
		return "mpa: length mismatch"
	case ErrFrame:
		return "mpa: invalid request or reply"
	case ErrLocal:
		return "mpa: local catastrophic error"
	case ErrInsufficient:
		return "mpa: insufficient IRD resources"
	case ErrRTR:
		return "mpa: no matching RTR option"
	default:
		return fmt.Sprintf("mpa: error %#02x", uint8(f))
	}
}
