package mpa

import (
	"bytes"
	"encoding/binary"
)

const (
	// FrameLength is the length of a request or reply without private data.
	FrameLength = 20
	// PrivateDataMax bounds the private data, including the four bytes of an enhanced set-up (RFC
	// 5044 section 7.1.1).
	PrivateDataMax = 512

	keyLength = 16
)

var (
	requestKey = []byte("MPA ID Req Frame")
	replyKey   = []byte("MPA ID Rep Frame")
)

// Frame is an MPA Request or Reply Frame (RFC 5044 section 7.1.1, RFC 6581
// section 6). All fields are big-endian.
//
//	octet 0   key, 16 octets: "MPA ID Req Frame" or "MPA ID Rep Frame"
//	octet 16  0x80 M  markers required by the sender of this frame
//	          0x40 C  CRC preferred by the sender of this frame
//	          0x20 R  connection rejected; replies only
//	          0x10 S  private data begins with the depths of RFC 6581
//	          0x0f reserved; see Kin for its use in this package
//	octet 17  revision
//	octet 18  length of the private data, 16 bit, at most 512
//	octet 20  private data
type Frame struct {
	// Reply is true for a reply, false for a request.
	Reply bool
	// Markers, CRC, Reject and Enhanced are the flags M, C, R and S.
	Markers, CRC, Reject, Enhanced bool
	// Kin in a request (bit 0x01) asks whether the peer runs this module. Kin in a reply (bit 0x02
	// without 0x01) says that the sender of the reply runs this module. The RFC requires that reserved bits are
	// sent as zero and ignored on receipt. So a peer of another implementation ignores the question
	// and usually replies with zeros. A peer that echoes the bits, such as the kernel's siw, replies
	// with 0x01, which is not a positive answer. A request of another implementation does not
	// contain the question, so this package sends the reserved bits as zero in its reply.
	Kin bool
	// Revision is 1, or 2 for an enhanced set-up.
	Revision uint8
	// PrivateData follows the fixed part. If Enhanced is true, the first four octets of PrivateData
	// belong to MPA, see Split.
	PrivateData []byte
}

const (
	flagMarkers  = 0x80
	flagCRC      = 0x40
	flagReject   = 0x20
	flagEnhanced = 0x10
	flagKinReply = 0x02
	flagKin      = 0x01
)

// Append appends the encoded frame. PrivateData must not exceed PrivateDataMax.
func (f Frame) Append(dst []byte) []byte {
	key, flags := requestKey, byte(0)
	if f.Reply {
		key = replyKey
	}
	if f.Markers {
		flags |= flagMarkers
	}
	if f.CRC {
		flags |= flagCRC
	}
	if f.Reject {
		flags |= flagReject
	}
	if f.Enhanced {
		flags |= flagEnhanced
	}
	switch {
	case f.Kin && f.Reply:
		flags |= flagKinReply
	case f.Kin:
		flags |= flagKin
	}
	dst = append(dst, key...)
	dst = append(dst, flags, f.Revision)
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(f.PrivateData)))
	return append(dst, f.PrivateData...)
}

// ParseFrame parses the frame at the beginning of b and returns the length of the frame. ErrShort
// means that more bytes are needed. Any other error is returned as soon as the bytes in b show the
// error. So a single wrong byte can be enough to detect a stranger.
//
// ParseFrame reports flag R only in replies, and flag S only from revision 2 on, because elsewhere
// these flags have no meaning. PrivateData is part of b.
func ParseFrame(b []byte) (Frame, int, error) {
	key := b[:min(len(b), keyLength)]
	reply := bytes.HasPrefix(replyKey, key)
	if !reply && !bytes.HasPrefix(requestKey, key) {
		return Frame{}, 0, ErrKey
	}
	if len(b) < FrameLength {
		return Frame{}, 0, ErrShort
	}
	flags, revision := b[16], b[17]
	private := int(binary.BigEndian.Uint16(b[18:]))
	if private > PrivateDataMax {
		return Frame{}, 0, ErrPrivateData
	}
	kin := flags&(flagKin|flagKinReply) == flagKin
	if reply {
		kin = flags&(flagKin|flagKinReply) == flagKinReply
	}
	end := FrameLength + private
	if len(b) < end {
		return Frame{}, 0, ErrShort
	}
	return Frame{
		Reply:       reply,
		Markers:     flags&flagMarkers != 0,
		CRC:         flags&flagCRC != 0,
		Reject:      reply && flags&flagReject != 0,
		Enhanced:    revision >= 2 && flags&flagEnhanced != 0,
		Kin:         kin,
		Revision:    revision,
		PrivateData: b[FrameLength:end:end],
	}, end, nil
}

// Missing returns the number of bytes between the end of b and the end of the frame. If b is too
// short to contain the length of the private data, Missing assumes that the frame has no private
// data. The result is at least one while ParseFrame returns ErrShort. A reader that reads at most
// this number of bytes reads no byte after the frame.
func Missing(b []byte) int {
	if len(b) < FrameLength {
		return FrameLength - len(b)
	}
	return FrameLength + int(binary.BigEndian.Uint16(b[18:])) - len(b)
}
