package rdma

import (
	"encoding/binary"
	"fmt"

	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/rdma/internal/credit"
	"github.com/gorun-hpc/gorun/transport/rdma/internal/negotiation"
)

// frameKind is the kind of a Send. Package credit defines which credits and receives a Send of each
// kind needs.
type frameKind uint8

const (
	frameEager frameKind = iota + 1
	frameUpdate
	frameBye
	frameByeAck
	frameProof // an update with the proof; the first message of the active side
	frameMark  // on a side connection: follows the Writes of a Put, see side.go
)

// recordKind is the kind of a record of an eager frame.
type recordKind uint8

const (
	recordMessage recordKind = iota + 1 // a message of the engine
	recordFetch                         // FetchAdd, to the owner of the word
	recordFetched                       // answer to recordFetch
	recordMarker                        // follows the Writes of a Put, or is sent by Close; is acknowledged at once
	recordCheck                         // asks whether memory may be accessed
	recordChecked                       // answer to recordCheck
	recordLeave                         // asks for the orderly end of the connection that a nonce names, see leave.go
	recordKey                           // asks for the key of memory on another rail, see side.go
	recordKeyed                         // answer to recordKey
	recordMarked                        // answers a mark on the side connection that a nonce names
	recordClose                         // asks for the end of the side connection that a nonce names
	recordClosed                        // answer to recordClose
	recordStay                          // answers a recordLeave of an idle rank: the connection is needed
)

const (
	// headBytes is the length of the head of a Send. The layout of the head is, little endian:
	//
	//	off bytes field
	//	  0   8   credit.Word
	//	  8   1   kind of the frame
	//	  9   1   1 in a BYE (end of the connection) of a rank that ends
	//	 10   6   0
	headBytes = 16
	// proofBytes is the length of a frame of kind frameProof: a head, followed by negotiation's
	// proof.
	proofBytes = headBytes + negotiation.ProofSize
	// recordBytes is the length of the head of a record. An eager frame has one or more records.
	// The layout of a record is, little endian:
	//
	//	off bytes field
	//	  0   4   length of the payload
	//	  4   1   kind of the record
	//	  5   3   0
	//	  8  24   three words: the engine's header, or arguments
	//	 32   -   payload, and zeros up to a multiple of 8
	recordBytes = 8 + transport.HeaderSize
)

// padded returns the length of a payload of n bytes on the wire.
func padded(n int) int { return (n + 7) &^ 7 }

// putHead writes the head of a Send.
func putHead(b []byte, w credit.Word, k frameKind, final bool) {
	binary.LittleEndian.PutUint64(b, uint64(w))
	flags := uint64(0)
	if final {
		flags = 1
	}
	binary.LittleEndian.PutUint64(b[8:], uint64(k)|flags<<8)
}

// head is the parsed head of a Send.
type head struct {
	word  credit.Word
	kind  frameKind
	final bool
}

// parseHead parses and validates the head of a Send that has arrived.
func parseHead(b []byte) (head, error) {
	if len(b) < headBytes {
		return head{}, fmt.Errorf("%w: a frame of %d bytes", transport.ErrDamaged, len(b))
	}
	second := binary.LittleEndian.Uint64(b[8:])
	h := head{credit.Word(binary.LittleEndian.Uint64(b)), frameKind(second), second>>8&1 != 0}
	if h.kind < frameEager || h.kind > frameMark || second>>9 != 0 || h.kind != frameEager && len(b) != h.kind.bytes() {
		return head{}, fmt.Errorf("%w: a frame of kind %d with %d bytes", transport.ErrDamaged, h.kind, len(b))
	}
	return h, nil
}

// bytes returns the length of a control frame.
func (k frameKind) bytes() int {
	if k == frameProof {
		return proofBytes
	}
	return headBytes
}

// putRecord writes a record at the start of b and returns the length of the record.
func putRecord(b []byte, k recordKind, h transport.Header, payload []byte) int {
	binary.LittleEndian.PutUint64(b, uint64(uint32(len(payload)))|uint64(k)<<32)
	binary.LittleEndian.PutUint64(b[8:], h.A)
	binary.LittleEndian.PutUint64(b[16:], h.B)
	binary.LittleEndian.PutUint64(b[24:], h.C)
	end := recordBytes + copy(b[recordBytes:], payload)
	n := recordBytes + padded(len(payload))
	if end < n {
		clear(b[end:n])
	}
	return n
}

// parseSingle parses an eager frame of one message. b has at least headBytes+recordBytes bytes.
// parseSingle returns false for every other frame, including malformed ones.
func parseSingle(b []byte) (credit.Word, transport.Header, []byte, bool) {
	_ = b[headBytes+recordBytes-1]
	first := binary.LittleEndian.Uint64(b[headBytes:])
	n := int(uint32(first))
	if binary.LittleEndian.Uint64(b[8:]) != uint64(frameEager) || first>>32 != uint64(recordMessage) || padded(n) != len(b)-headBytes-recordBytes {
		return 0, transport.Header{}, nil, false
	}
	h := transport.Header{
		A: binary.LittleEndian.Uint64(b[headBytes+8:]),
		B: binary.LittleEndian.Uint64(b[headBytes+16:]),
		C: binary.LittleEndian.Uint64(b[headBytes+24:]),
	}
	return credit.Word(binary.LittleEndian.Uint64(b)), h, b[headBytes+recordBytes : headBytes+recordBytes+n], true
}

// record is one parsed record. payload is a slice of the receive.
type record struct {
	kind    recordKind
	header  transport.Header
	payload []byte
}

// parseRecord parses the record at the start of b. It returns the record and its length.
func parseRecord(b []byte) (record, int, error) {
	if len(b) < recordBytes {
		return record{}, 0, fmt.Errorf("%w: a record of %d bytes", transport.ErrDamaged, len(b))
	}
	first := binary.LittleEndian.Uint64(b)
	n, k := int(uint32(first)), recordKind(first>>32)
	if k < recordMessage || k > recordStay || first>>40 != 0 || n > len(b)-recordBytes || padded(n) > len(b)-recordBytes {
		return record{}, 0, fmt.Errorf("%w: a record of kind %d with %d bytes of %d", transport.ErrDamaged, k, n, len(b))
	}
	h := transport.Header{
		A: binary.LittleEndian.Uint64(b[8:]),
		B: binary.LittleEndian.Uint64(b[16:]),
		C: binary.LittleEndian.Uint64(b[24:]),
	}
	return record{k, h, b[recordBytes : recordBytes+n]}, recordBytes + padded(n), nil
}
