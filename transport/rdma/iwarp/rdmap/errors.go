package rdmap

import (
	"errors"
	"fmt"

	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/ddp"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/mpa"
)

// FaultError is a violation of RDMAP by the peer. Its value is the error type and error code of the
// Terminate message that reports the violation. The message names layer 0 (RFC 5040 section 4.8).
//
//	0xf00  error type: 0 local catastrophic, 1 remote protection, 2 remote operation
//	0x0ff  error code
type FaultError uint16

// The errors of RDMAP.
const (
	ErrLocal FaultError = 0x000 // local catastrophic

	ErrSTag          FaultError = 0x100 // invalid STag
	ErrBounds        FaultError = 0x101 // base or bounds violation
	ErrAccess        FaultError = 0x102 // access rights violation
	ErrNotAssociated FaultError = 0x103 // STag not associated with the stream
	ErrWrap          FaultError = 0x104 // tagged offset wraps
	ErrProtectedSTag FaultError = 0x109 // STag cannot be invalidated: it belongs to another protection domain

	ErrVersion         FaultError = 0x205 // version not supported
	ErrOpcode          FaultError = 0x206 // unexpected opcode
	ErrStream          FaultError = 0x207 // catastrophic, of this stream
	ErrGlobal          FaultError = 0x208 // catastrophic, of all streams
	ErrInvalidate      FaultError = 0x209 // STag cannot be invalidated: there is no such STag
	ErrRemoteOperation FaultError = 0x2ff // unspecified
)

// Error implements error.
func (f FaultError) Error() string {
	switch f {
	case ErrLocal:
		return "rdmap: local catastrophic error"
	case ErrSTag:
		return "rdmap: invalid STag"
	case ErrBounds:
		return "rdmap: base or bounds violation"
	case ErrAccess:
		return "rdmap: access rights violation"
	case ErrNotAssociated:
		return "rdmap: STag not associated with the stream"
	case ErrWrap:
		return "rdmap: tagged offset wraps"
	case ErrProtectedSTag, ErrInvalidate:
		return "rdmap: STag cannot be invalidated"
	case ErrVersion:
		return "rdmap: version not supported"
	case ErrOpcode:
		return "rdmap: unexpected opcode"
	case ErrStream:
		return "rdmap: catastrophic error of the stream"
	case ErrGlobal:
		return "rdmap: catastrophic error"
	default:
		return fmt.Sprintf("rdmap: error type %d code %#02x", uint8(f>>8), uint8(f))
	}
}

// ErrShort reports that a message is shorter than its fields.
var ErrShort = errors.New("rdmap: message is too short")

// CodeOf returns the code of the Terminate message that the peer gets for an error of this package,
// of ddp or of mpa. A message or segment that ends within its header is reported as mpa.ErrLength.
// Any other error is an error of this side, and is reported as local catastrophic.
func CodeOf(err error) Code {
	var r FaultError
	var d ddp.FaultError
	var m mpa.FaultError
	switch {
	case errors.As(err, &r):
		return Code{Layer: LayerRDMAP, Type: uint8(r >> 8), Code: uint8(r)}
	case errors.As(err, &d):
		return Code{Layer: LayerDDP, Type: d.Type(), Code: d.Code()}
	case errors.As(err, &m):
		return Code{Layer: LayerLLP, Code: uint8(m)}
	case errors.Is(err, ErrShort), errors.Is(err, ddp.ErrShort):
		return Code{Layer: LayerLLP, Code: uint8(mpa.ErrLength)}
	default:
		return Code{Layer: LayerRDMAP}
	}
}
