package mpa

import (
	"bytes"
	"encoding/binary"
)

const (
	// FrameLength is the length of a request or reply without private data.
	FrameLength = 20
	// PrivateDataMax bounds private data, the four bytes of an enhanced set-up
	// included (RFC 5044 section 7.1.1).
	PrivateDataMax = 512
	// FrameLengthMax is the length of the longest request or reply.
	FrameLengthMax = FrameLength + PrivateDataMax

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
//	          0x0f    reserved; see Kin for the one use we make of it
//	octet 17  revision
//	octet 18  length of the private data, 16 bit, at most 512
//	octet 20  private data
type Frame struct {
	// Reply tells a reply from a request.
	Reply bool
	// Markers, CRC, Reject and Enhanced are the flags M, C, R and S.
	Markers, CRC, Reject, Enhanced bool
	// Kin asks (request, 0x01) whether the peer is of this module, and says so
	// (reply, 0x02 without 0x01). The RFC wants reserved bits sent as zero and not
	// looked at, so a stranger ignores the question; one that echoes the bits it was
	// sent, as the kernel's siw does, does not give the answer; and a stranger's
	// request, which does not ask, gets zeros.
	Kin bool
	// Revision is 1, or 2 for an enhanced set-up.
	Revision uint8
	// PrivateData is what follows the fixed part. When Enhanced is set its first
	// four octets belong to MPA, see Split.
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

// Length returns the encoded length in bytes.
func (f Frame) Length() int { return FrameLength + len(f.PrivateData) }

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

// ParseFrame parses the frame at the head of b and returns its length. With
// ErrShort more bytes are needed; every other error shows as soon as the bytes
// at hand prove it, so that a stranger's first byte is enough to be rid of it.
//
// The flags R and S are reported only where they have a meaning: R in replies, S
// from revision 2 on. PrivateData is part of b.
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

// Missing returns how many bytes the frame that begins with b still lacks, as far as
// b tells: at least one while ParseFrame returns ErrShort. A reader that takes no more than
// that from a stream takes nothing of what follows the frame.
func Missing(b []byte) int {
	if len(b) < FrameLength {
		return FrameLength - len(b)
	}
	return FrameLength + int(binary.BigEndian.Uint16(b[18:])) - len(b)
}
