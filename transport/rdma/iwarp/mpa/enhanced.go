package mpa

import "encoding/binary"

const (
	// EnhancedLength is the length in bytes of an encoded Enhanced.
	EnhancedLength = 4
	// DepthMax is the largest IRD or ORD that can be stated.
	DepthMax = DepthUnstated - 1
	// DepthUnstated as IRD or ORD means that the sender of the frame does not negotiate this depth
	// automatically (RFC 6581 section 9.1).
	DepthUnstated = 0x3fff

	flagHigh = 0x8000 // flag A in word 0, flag C in word 1, see Enhanced
	flagLow  = 0x4000 // flag B in word 0, flag D in word 1
)

// RTR is a set of ready-to-receive indications, which an initiator may send as its first FPDU in
// the peer-to-peer model (RFC 6581 section 9.2).
type RTR uint8

// The three indications, each of length zero.
const (
	RTRSend  RTR = 1 << iota // a Send
	RTRWrite                 // an RDMA Write
	RTRRead                  // an RDMA Read Request
)

// Enhanced is the beginning of the private data in an enhanced set-up (RFC 6581 section 9). It
// consists of two big-endian words:
//
//	word 0  0x8000 A  peer-to-peer model
//	        0x4000 B  RTR by a zero-length Send
//	        0x3fff    IRD
//	word 1  0x8000 C  RTR by a zero-length RDMA Write
//	        0x4000 D  RTR by a zero-length RDMA Read
//	        0x3fff    ORD
type Enhanced struct {
	// PeerToPeer is flag A. If it is set, either side may be the first to send a message, after the initiator has
	// sent its RTR. If it is not set, only the initiator may be the first.
	PeerToPeer bool
	// RTR is the set of flags B, C and D. It is empty if PeerToPeer is false.
	RTR RTR
	// IRD and ORD are the depths of the sender of the frame, at most DepthMax, or DepthUnstated.
	IRD, ORD uint16
}

// Append appends the encoded words.
func (e Enhanced) Append(dst []byte) []byte {
	first, second := e.IRD&DepthUnstated, e.ORD&DepthUnstated
	if e.PeerToPeer {
		first |= flagHigh
		if e.RTR&RTRSend != 0 {
			first |= flagLow
		}
		if e.RTR&RTRWrite != 0 {
			second |= flagHigh
		}
		if e.RTR&RTRRead != 0 {
			second |= flagLow
		}
	}
	dst = binary.BigEndian.AppendUint16(dst, first)
	return binary.BigEndian.AppendUint16(dst, second)
}

// ParseEnhanced parses the words at the beginning of b. If flag A is not set, the flags B, C and D
// have no meaning and are ignored.
func ParseEnhanced(b []byte) (Enhanced, int, error) {
	if len(b) < EnhancedLength {
		return Enhanced{}, 0, ErrShort
	}
	first, second := binary.BigEndian.Uint16(b), binary.BigEndian.Uint16(b[2:])
	e := Enhanced{PeerToPeer: first&flagHigh != 0, IRD: first & DepthUnstated, ORD: second & DepthUnstated}
	if e.PeerToPeer {
		if first&flagLow != 0 {
			e.RTR |= RTRSend
		}
		if second&flagHigh != 0 {
			e.RTR |= RTRWrite
		}
		if second&flagLow != 0 {
			e.RTR |= RTRRead
		}
	}
	return e, EnhancedLength, nil
}

// Split separates the depths from the private data of the layer above. If the frame is not
// enhanced, the depths are DepthUnstated. The error is ErrEnhanced if the private data is too short
// for the depths.
func (f Frame) Split() (Enhanced, []byte, error) {
	if !f.Enhanced {
		return Enhanced{IRD: DepthUnstated, ORD: DepthUnstated}, f.PrivateData, nil
	}
	e, n, err := ParseEnhanced(f.PrivateData)
	if err != nil {
		return Enhanced{}, nil, ErrEnhanced
	}
	return e, f.PrivateData[n:], nil
}
