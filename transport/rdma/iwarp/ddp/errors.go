package ddp

import "fmt"

// FaultError is a violation of DDP by the peer. The value of a FaultError is the error type and
// error code of the Terminate message that reports the violation. The message names layer 1 (RFC
// 5041 section 8.2, RFC 5040 section 4.8).
//
//	0xf00  error type: 0 local catastrophic, 1 tagged buffer, 2 untagged buffer
//	0x0ff  error code
type FaultError uint16

// The errors of DDP.
const (
	ErrLocal FaultError = 0x000 // local catastrophic

	ErrSTag          FaultError = 0x100 // invalid STag
	ErrBounds        FaultError = 0x101 // base or bounds violation
	ErrNotAssociated FaultError = 0x102 // STag not associated with the stream
	ErrWrap          FaultError = 0x103 // tagged offset wraps
	ErrTaggedVersion FaultError = 0x104 // invalid version in a tagged segment

	ErrQueue           FaultError = 0x201 // invalid queue number
	ErrNoBuffer        FaultError = 0x202 // no buffer for this message
	ErrSequence        FaultError = 0x203 // message sequence number out of range
	ErrOffset          FaultError = 0x204 // invalid message offset
	ErrTooLong         FaultError = 0x205 // message too long for its buffer
	ErrUntaggedVersion FaultError = 0x206 // invalid version in an untagged segment
)

// Type returns the error type, 0 to 2.
func (f FaultError) Type() uint8 { return uint8(f >> 8) }

// Code returns the error code.
func (f FaultError) Code() uint8 { return uint8(f) }

// Error implements error.
func (f FaultError) Error() string {
	switch f {
	case ErrLocal:
		return "ddp: local catastrophic error"
	case ErrSTag:
		return "ddp: invalid STag"
	case ErrBounds:
		return "ddp: base or bounds violation"
	case ErrNotAssociated:
		return "ddp: STag not associated with the stream"
	case ErrWrap:
		return "ddp: tagged offset wraps"
	case ErrTaggedVersion, ErrUntaggedVersion:
		return "ddp: version not supported"
	case ErrQueue:
		return "ddp: invalid queue number"
	case ErrNoBuffer:
		return "ddp: no buffer posted"
	case ErrSequence:
		return "ddp: message sequence number out of range"
	case ErrOffset:
		return "ddp: invalid message offset"
	case ErrTooLong:
		return "ddp: message too long for its buffer"
	default:
		return fmt.Sprintf("ddp: error type %d code %#02x", f.Type(), f.Code())
	}
}
