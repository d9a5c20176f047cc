package mpa

import "encoding/binary"

const (
	// HeaderLength is the length of the length field before a ULPDU.
	HeaderLength = 2
	// CRCLength is the length of the CRC field that follows the padding.
	CRCLength = 4
	// TrailerMax is the length of the longest trailer: padding and CRC field.
	TrailerMax = 3 + CRCLength
	// ULPDUMax is the length of the longest ULPDU that the length field can announce.
	ULPDUMax = 1<<16 - 1
	// mulpduMin is the minimum of MULPDU for every TCP segment size (RFC 5044 section 4.5).
	mulpduMin = 128
)

// Pad returns the number of zero octets that follow a ULPDU of this length, 0 to 3.
func Pad(ulpdu int) int { return -(HeaderLength + ulpdu) & 3 }

// FPDULength returns the length of the whole FPDU with a ULPDU of this length.
func FPDULength(ulpdu int) int { return HeaderLength + ulpdu + Pad(ulpdu) + CRCLength }

// MULPDU returns the length of the longest ULPDU whose FPDU fits into one TCP segment of emss
// bytes, without markers, but at least 128 (RFC 5044 section 4.5).
func MULPDU(emss int) int { return min(max(emss-(6+emss%4), mulpduMin), ULPDUMax) }

// AppendTrailer appends the padding and the CRC of an FPDU. ulpdu is the length of its ULPDU, crc
// the checksum of its length field and ULPDU. If on is false, the CRC field is zero.
func AppendTrailer(dst []byte, ulpdu int, crc uint32, on bool) []byte {
	at := len(dst)
	for range Pad(ulpdu) {
		dst = append(dst, 0)
	}
	if on {
		crc = Checksum(crc, dst[at:])
	} else {
		crc = 0
	}
	// The CRC is sent with the lowest octet first (RFC 5044 section 4.4 with RFC 3720 section
	// 12.1). It is the only little-endian field of the protocol.
	return binary.LittleEndian.AppendUint32(dst, crc)
}

// Seal fills in the length field, the padding and the CRC of the FPDU b. ulpdu is the length of its
// ULPDU. The ULPDU is already in its place in b, and b has FPDULength(ulpdu) bytes.
func Seal(b []byte, ulpdu int, on bool) {
	binary.BigEndian.PutUint16(b, uint16(ulpdu))
	at := len(b) - CRCLength
	for i := HeaderLength + ulpdu; i < at; i++ {
		b[i] = 0
	}
	crc := uint32(0)
	if on {
		crc = Checksum(0, b[:at])
	}
	binary.LittleEndian.PutUint32(b[at:], crc)
}

// AppendFPDU appends the FPDU with a ULPDU of at most ULPDUMax bytes.
func AppendFPDU(dst, ulpdu []byte, on bool) []byte {
	start := len(dst)
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(ulpdu)))
	dst = append(dst, ulpdu...)
	var crc uint32
	if on {
		crc = Checksum(0, dst[start:])
	}
	return AppendTrailer(dst, len(ulpdu), crc, on)
}

// Whole returns the ULPDU of the FPDU at the beginning of b, and the length of this FPDU. The error
// is ErrShort if b contains only a part of the FPDU, or ErrCRC if on is true and the CRC is wrong.
// Whole is the fast path for small FPDUs. FPDUs that arrive in pieces need a Deframer.
func Whole(b []byte, on bool) ([]byte, int, error) {
	if len(b) < HeaderLength {
		return nil, 0, ErrShort
	}
	ulpdu := int(binary.BigEndian.Uint16(b))
	n := FPDULength(ulpdu)
	if len(b) < n {
		return nil, 0, ErrShort
	}
	at := n - CRCLength
	if on && Checksum(0, b[:at]) != binary.LittleEndian.Uint32(b[at:n]) {
		return nil, 0, ErrCRC
	}
	return b[HeaderLength : HeaderLength+ulpdu : HeaderLength+ulpdu], n, nil
}
