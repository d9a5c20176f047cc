package malice_test

import (
	"encoding/binary"
	"slices"
)

// move is what becomes of one FPDU, by its number. Eight bytes of a script are one:
//
//	0 kind   1 number   2 offset (2)   4 value   5 length   6 an earlier FPDU (2)
//
// What is behind the last whole move is raw material for inserted ones.
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
	moveDrop                   // leaves it out
	moveRepeat                 // sends it twice
	moveCut                    // shortens it
	moveExtend                 // makes it longer
	moveReplay                 // sends an earlier one in its place
	moveDelay                  // sends the next one first
	moveInsert                 // sends raw material before it
	moveNumber                 // sets a word of 8 bytes to one that is near a limit
	moveEnd                    // ends the connection in the midst of it
	moveKinds
)

// moveBytes is the length of a move.
const moveBytes = 8

// movesMax bounds a script.
const movesMax = 16

func (m move) append(b []byte) []byte {
	b = append(b, byte(m.kind), m.number)
	b = binary.BigEndian.AppendUint16(b, m.offset)
	b = append(b, m.value, m.length)
	return binary.BigEndian.AppendUint16(b, m.other)
}

// parse reads a script: every sequence of bytes is one.
func parse(b []byte) (moves []move, raw []byte) {
	for len(b) >= moveBytes && len(moves) < movesMax {
		moves = append(moves, move{
			moveKind(b[0]) % moveKinds, b[1], binary.BigEndian.Uint16(b[2:]), b[4], b[5], binary.BigEndian.Uint16(b[6:]),
		})
		b = b[moveBytes:]
	}
	return moves, b
}

// limits are words that a parser may think of as lengths, offsets and counts.
var limits = []uint64{0, 1, 1<<16 - 1, 1 << 24, 1<<31 - 1, 1 << 31, 1<<32 - 1, 1 << 40, 1<<63 - 1, 1 << 63, 1<<64 - 1}

// change makes of one ULPDU those that are sent in its place. It returns false if the
// connection ends there.
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
	case moveDelay, moveKinds: // the stream does it; there is none
	}
	return [][]byte{u}, true
}
