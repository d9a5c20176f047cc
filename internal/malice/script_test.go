package malice_test

import (
	"encoding/binary"
	"slices"
)

// move is a change of one FPDU. The field number is the number of this FPDU. Eight bytes of a script encode a
// move:
//
//	0 kind   1 number   2 offset (2)   4 value   5 length   6 an earlier FPDU (2)
//
// The bytes after the last whole move are raw material for inserted FPDUs.
type move struct {
	kind   moveKind
	number byte
	offset uint16
	value  byte
	length byte
	other  uint16
}

type moveKind uint8

const (
	moveFlip   moveKind = iota // changes bits of a byte
	moveFill                   // sets bytes
	moveDrop                   // drops the FPDU
	moveRepeat                 // sends the FPDU twice
	moveCut                    // shortens the FPDU
	moveExtend                 // makes the FPDU longer
	moveReplay                 // sends an earlier FPDU in place of this one
	moveDelay                  // sends the next FPDU first
	moveInsert                 // sends raw material before the FPDU
	moveNumber                 // sets a word of 8 bytes to a value near a limit
	moveEnd                    // ends the connection in the middle of the FPDU
	moveKinds
)

// moveBytes is the length of an encoded move.
const moveBytes = 8

// movesMax bounds the moves of a script.
const movesMax = 16

func (m move) append(b []byte) []byte {
	b = append(b, byte(m.kind), m.number)
	b = binary.BigEndian.AppendUint16(b, m.offset)
	b = append(b, m.value, m.length)
	return binary.BigEndian.AppendUint16(b, m.other)
}

// parse decodes a script. Every sequence of bytes is a valid script.
func parse(b []byte) (moves []move, raw []byte) {
	for len(b) >= moveBytes && len(moves) < movesMax {
		moves = append(moves, move{
			moveKind(b[0]) % moveKinds, b[1], binary.BigEndian.Uint16(b[2:]), b[4], b[5], binary.BigEndian.Uint16(b[6:]),
		})
		b = b[moveBytes:]
	}
	return moves, b
}

// limits lists values that a parser may take for lengths, offsets and counts.
var limits = []uint64{0, 1, 1<<16 - 1, 1 << 24, 1<<31 - 1, 1 << 31, 1<<32 - 1, 1 << 40, 1<<63 - 1, 1 << 63, 1<<64 - 1}

// change returns the ULPDUs that are sent in place of a ULPDU. It returns false if the connection
// ends after them.
func (m move) change(ulpdu []byte, earlier [][]byte, raw []byte) (list [][]byte, goes bool) {
	u := slices.Clone(ulpdu)
	at := int(m.offset) % max(len(u), 1)
	switch m.kind {
	case moveFlip:
		if len(u) > 0 {
			u[at] ^= max(m.value, 1)
		}
	case moveFill:
		for i := range u[at:min(at+int(m.length), len(u))] {
			u[at+i] = m.value
		}
	case moveDrop:
		return nil, true
	case moveRepeat:
		return [][]byte{u, u}, true
	case moveCut:
		u = u[:at]
	case moveExtend:
		u = append(u, slices.Repeat([]byte{m.value}, int(m.length))...)
	case moveReplay:
		if len(earlier) > 0 {
			u = earlier[int(m.other)%len(earlier)]
		}
	case moveInsert:
		return [][]byte{raw[:min(len(raw), 1<<15)], u}, true
	case moveNumber:
		var word [8]byte
		binary.LittleEndian.PutUint64(word[:], limits[int(m.value)%len(limits)])
		copy(u[at:], word[:])
	case moveEnd:
		return [][]byte{u[:at]}, false
	// The wire implements moveDelay. moveKinds is not a kind.
	case moveDelay, moveKinds:
	}
	return [][]byte{u}, true
}
