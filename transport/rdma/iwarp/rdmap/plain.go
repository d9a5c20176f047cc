package rdmap

import (
	"encoding/binary"

	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/ddp"
)

// plainControl holds the two control octets of a plain Send: untagged, last segment, both versions
// 1, opcode Send. A Send with an RDMAP version of 0 or with reserved bits set has the same
// meaning, but Plain returns false for it.
const plainControl = (0x40|ddp.Version)<<8 | Version<<versionShift | uint16(Send)

// PutPlain writes the header of a plain Send to the first ddp.UntaggedLength octets of b. A plain
// Send is a Send in one segment that neither invalidates an STag nor asks for an event. Most
// messages are plain Sends.
func PutPlain(b []byte, msn uint32) {
	_ = b[ddp.UntaggedLength-1]
	binary.BigEndian.PutUint16(b, plainControl)
	binary.BigEndian.PutUint32(b[2:], 0)
	binary.BigEndian.PutUint32(b[6:], QueueSend)
	binary.BigEndian.PutUint32(b[10:], msn)
	binary.BigEndian.PutUint32(b[14:], 0)
}

// Plain returns the message sequence number of the ULPDU b if b is a plain Send. Its payload
// follows ddp.UntaggedLength octets of header. Plain returns false for all other ULPDUs. It also
// returns false for a plain Send with another version or with reserved bits set. The caller parses
// these ULPDUs field by field.
func Plain(b []byte) (msn uint32, ok bool) {
	if len(b) < ddp.UntaggedLength {
		return 0, false
	}
	ok = binary.BigEndian.Uint16(b) == plainControl && binary.BigEndian.Uint32(b[6:]) == QueueSend && binary.BigEndian.Uint32(b[14:]) == 0
	return binary.BigEndian.Uint32(b[10:]), ok
}
