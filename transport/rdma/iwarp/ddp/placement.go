package ddp

import "math/bits"

// Bounds returns the offset of a payload in memory. The payload has n octets, and its tagged
// offset is the argument to. The argument length is the number of octets of the memory, and base
// is the tagged offset of its first octet. The error is ErrWrap or ErrBounds.
//
// A segment without payload places nothing. RFC 5041 section 5.2 forbids a check of its STag and
// of its offset. So Bounds must not be called for such a segment.
func Bounds(base uint64, length int, to uint64, n int) (int, error) {
	end, carry := bits.Add64(to, uint64(n), 0)
	if carry != 0 && end != 0 {
		// A sum to+n of exactly 2^64 is no error: the payload ends with the last octet of the
		// offset space and does not wrap.
		return 0, ErrWrap
	}
	if to < base {
		return 0, ErrBounds
	}
	offset := to - base
	if offset > uint64(length) || uint64(n) > uint64(length)-offset {
		return 0, ErrBounds
	}
	return int(offset), nil
}

// Segments returns the number of segments of a message of n octets if a segment carries at most
// step octets. The number is at least one, because a message of length zero is one segment (RFC
// 5041 section 5.2).
func Segments(n, step int) int {
	return max((n+step-1)/step, 1)
}
