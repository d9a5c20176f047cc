package ddp

import (
	"encoding/binary"
	"errors"
)

// The control octet, which is the first octet of every segment (RFC 5041 section 4.1):
//
//	0x80  T     tagged
//	0x40  L     last segment of its message
//	0x3c        reserved: sent as zero, ignored on receipt (package iwarp uses 0x20, see its flagPacked)
//	0x03  DV    version
const (
	flagTagged  = 0x80
	flagLast    = 0x40
	versionMask = 0x03

	// Version is the version of DDP that RFC 5041 defines. No other version exists.
	Version = 1
)

const (
	// TaggedLength is the length of a tagged header.
	TaggedLength = 14
	// UntaggedLength is the length of an untagged header.
	UntaggedLength = 18
)

// ErrShort reports that a segment ends within its header.
var ErrShort = errors.New("ddp: segment is shorter than its header")

// Tagged is the header of a tagged segment (RFC 5041 section 4.2). All fields are
// big-endian.
//
//	octet 0   control
//	octet 1   for the layer above: RDMAP's control octet
//	octet 2   STag, 32 bit
//	octet 6   tagged offset of the payload's first octet, 64 bit
type Tagged struct {
	// Last marks the last segment of a message.
	Last bool
	// Control is the control octet of the layer above.
	Control uint8
	// STag names the receiver's memory, and TO is the tagged offset in it.
	STag uint32
	TO   uint64
}

// Untagged is the header of an untagged segment (RFC 5041 section 4.3).
//
//	octet 0   control
//	octet 1   for the layer above: RDMAP's control octet
//	octet 2   for the layer above, 32 bit: the STag that RDMAP invalidates
//	octet 6   queue number, 32 bit
//	octet 10  message sequence number, 32 bit, from 1, per queue, wraps to 0
//	octet 14  offset of the payload in its message, 32 bit
type Untagged struct {
	// Last marks the last segment of a message.
	Last bool
	// Control and ULP belong to the layer above.
	Control uint8
	ULP     uint32
	// QN is the queue number, MSN the message sequence number, MO the offset in the message.
	QN, MSN, MO uint32
}

// Tag reports whether a segment with this control octet is tagged.
func Tag(control byte) bool { return control&flagTagged != 0 }

// Length returns the length of a header with this control octet.
func Length(control byte) int {
	if Tag(control) {
		return TaggedLength
	}
	return UntaggedLength
}

func control(tagged byte, last bool) byte {
	c := tagged | Version
	if last {
		c |= flagLast
	}
	return c
}

// Put writes the header to the first TaggedLength octets of b.
func (h *Tagged) Put(b []byte) {
	_ = b[TaggedLength-1]
	b[0] = control(flagTagged, h.Last)
	b[1] = h.Control
	binary.BigEndian.PutUint32(b[2:], h.STag)
	binary.BigEndian.PutUint64(b[6:], h.TO)
}

// Put writes the header to the first UntaggedLength octets of b.
func (h *Untagged) Put(b []byte) {
	_ = b[UntaggedLength-1]
	b[0] = control(0, h.Last)
	b[1] = h.Control
	binary.BigEndian.PutUint32(b[2:], h.ULP)
	binary.BigEndian.PutUint32(b[6:], h.QN)
	binary.BigEndian.PutUint32(b[10:], h.MSN)
	binary.BigEndian.PutUint32(b[14:], h.MO)
}

// ParseTagged parses the tagged header at the beginning of b. The error is ErrShort, or
// ErrTaggedVersion if the version is not Version or the control octet says that the segment is
// untagged.
func ParseTagged(b []byte) (Tagged, error) {
	if len(b) < TaggedLength {
		return Tagged{}, ErrShort
	}
	if b[0]&(flagTagged|versionMask) != flagTagged|Version {
		return Tagged{}, ErrTaggedVersion
	}
	return Tagged{
		Last:    b[0]&flagLast != 0,
		Control: b[1],
		STag:    binary.BigEndian.Uint32(b[2:]),
		TO:      binary.BigEndian.Uint64(b[6:]),
	}, nil
}

// ParseUntagged parses the untagged header at the beginning of b. The error is ErrShort, or
// ErrUntaggedVersion if the version is not Version or the control octet says that the segment is
// tagged.
func ParseUntagged(b []byte) (Untagged, error) {
	if len(b) < UntaggedLength {
		return Untagged{}, ErrShort
	}
	if b[0]&(flagTagged|versionMask) != Version {
		return Untagged{}, ErrUntaggedVersion
	}
	return Untagged{
		Last:    b[0]&flagLast != 0,
		Control: b[1],
		ULP:     binary.BigEndian.Uint32(b[2:]),
		QN:      binary.BigEndian.Uint32(b[6:]),
		MSN:     binary.BigEndian.Uint32(b[10:]),
		MO:      binary.BigEndian.Uint32(b[14:]),
	}, nil
}

// CheckVersion returns an error if the version in a control octet is not Version, and nil
// otherwise. The version can be checked before the rest of the header has arrived.
func CheckVersion(control byte) error {
	switch {
	case control&versionMask == Version:
		return nil
	case Tag(control):
		return ErrTaggedVersion
	default:
		return ErrUntaggedVersion
	}
}
