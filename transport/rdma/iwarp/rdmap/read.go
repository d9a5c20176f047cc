package rdmap

import "encoding/binary"

// ReadRequestLength is the length of a Read Request without its DDP header.
const ReadRequestLength = 28

// ReadRequest asks a responder to send Size octets of its memory in a Read Response (RFC 5040
// section 4.4). All fields are big-endian.
//
//	octet 0   sink STag, 32 bit    place of the octets at the requester; copied
//	octet 4   sink TO, 64 bit      to the Read Response
//	octet 12  size, 32 bit
//	octet 16  source STag, 32 bit  what the responder reads
//	octet 20  source TO, 64 bit
//
// If Size is zero, RFC 5040 section 5.2.1 forbids the responder to check the source STag and the
// source TO.
type ReadRequest struct {
	SinkSTag   uint32
	SinkTO     uint64
	Size       uint32
	SourceSTag uint32
	SourceTO   uint64
}

// Put writes the request to the first ReadRequestLength octets of b.
func (r *ReadRequest) Put(b []byte) {
	_ = b[ReadRequestLength-1]
	binary.BigEndian.PutUint32(b, r.SinkSTag)
	binary.BigEndian.PutUint64(b[4:], r.SinkTO)
	binary.BigEndian.PutUint32(b[12:], r.Size)
	binary.BigEndian.PutUint32(b[16:], r.SourceSTag)
	binary.BigEndian.PutUint64(b[20:], r.SourceTO)
}

// ParseReadRequest parses the request at the beginning of b. The error is ErrShort.
func ParseReadRequest(b []byte) (ReadRequest, error) {
	if len(b) < ReadRequestLength {
		return ReadRequest{}, ErrShort
	}
	return ReadRequest{
		SinkSTag:   binary.BigEndian.Uint32(b),
		SinkTO:     binary.BigEndian.Uint64(b[4:]),
		Size:       binary.BigEndian.Uint32(b[12:]),
		SourceSTag: binary.BigEndian.Uint32(b[16:]),
		SourceTO:   binary.BigEndian.Uint64(b[20:]),
	}, nil
}
