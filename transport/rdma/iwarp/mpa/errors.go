package mpa

import (
	"errors"
	"fmt"
)

var (
	// ErrShort says that the bytes so far are the beginning of something valid.
	// Read more and try again.
	ErrShort = errors.New("mpa: incomplete")
	// ErrKey says that the bytes are no MPA frame. Close the connection without
	// an answer (RFC 5044 section 7.1.2 rules 2 and 9).
	ErrKey = errors.New("mpa: no MPA request or reply")
	// ErrActiveActive says that a request came where a reply was due: both sides
	// connect actively (RFC 5044 section 7.1.2 rule 8).
	ErrActiveActive = errors.New("mpa: request in place of a reply")
	// ErrUnasked says that a reply came where a request was due.
	ErrUnasked = errors.New("mpa: reply in place of a request")
	// ErrPrivateData says that the frame announces more private data than the
	// protocol allows, or that the caller wants to send more.
	ErrPrivateData = errors.New("mpa: more than 512 bytes of private data")
	// ErrRevision says that the peer uses a revision other than 1 or 2, or
	// answered in one that was not asked for.
	ErrRevision = errors.New("mpa: revision not supported")
	// ErrMarkers says that the peer requires markers.
	ErrMarkers = errors.New("mpa: peer requires markers")
	// ErrEnhanced says that a frame claims to be enhanced but has no room for
	// the depths, or is not enhanced where it has to be.
	ErrEnhanced = errors.New("mpa: enhanced set-up is malformed")
	// ErrRejected says that the responder refused the connection. Its private
	// data says why.
	ErrRejected = errors.New("mpa: connection rejected")
)

// FaultError is an error of the MPA layer with the code that a Terminate message
// carries for it: layer 2 (LLP), error type 0 (RFC 5044 section 8, RFC 6581
// section 10).
type FaultError uint8

// The error codes of the MPA layer.
const (
	ErrLost         FaultError = 0x01 // TCP connection closed, terminated or lost
	ErrCRC          FaultError = 0x02 // received CRC does not match the calculated one
	ErrLength       FaultError = 0x03 // marker and length field do not fit
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
		return "mpa: length does not fit"
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
