package mpa

import "encoding/binary"

const (
	// HeaderLength is the length of the length field before a ULPDU.
	HeaderLength = 2
	// CRCLength is the length of the CRC field behind the padding.
	CRCLength = 4
	// TrailerMax is the length of the longest padding with its CRC field.
	TrailerMax = 3 + CRCLength
	// ULPDUMax is the longest ULPDU that the length field can announce.
	ULPDUMax = 1<<16 - 1
	// mulpduMin is the floor of MULPDU, whatever the segment size (RFC 5044
	// section 4.5).
	mulpduMin = 128
)

// Pad returns the number of zero octets behind a ULPDU of that length, 0 to 3.
func Pad(ulpdu int) int { return -(HeaderLength + ulpdu) & 3 }

// FPDULength returns the length of the whole FPDU for a ULPDU of that length.
func FPDULength(ulpdu int) int { return HeaderLength + ulpdu + Pad(ulpdu) + CRCLength }

// MULPDU returns the longest ULPDU whose FPDU fits into one TCP segment of emss
// bytes, without markers (RFC 5044 section 4.5).
func MULPDU(emss int) int { return min(max(emss-(6+emss%4), mulpduMin), ULPDUMax) }

// AppendTrailer appends padding and CRC of an FPDU whose length field and ULPDU
// of that length have the checksum crc. With on unset the CRC field is zero.
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
	// The CRC's coefficients go out lowest octet first (RFC 5044 section 4.4
	// with RFC 3720 section 12.1), the only little-endian field of the protocol.
	return binary.LittleEndian.AppendUint32(dst, crc)
}

// Seal completes the FPDU b, which is FPDULength long and whose ULPDU of that length is
// in its place: with length field, padding and CRC.
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

// AppendFPDU appends the FPDU of a ULPDU of at most ULPDUMax bytes.
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

// Whole returns the ULPDU of the FPDU at the head of b and the length of that
// FPDU. With ErrShort b ends before the FPDU does; ErrCRC says that the CRC is
// on and wrong. It is the short way for small FPDUs; a Deframer follows those
// that arrive in pieces.
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
