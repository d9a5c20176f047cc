package shm

// A record, in a ring or in the inbox, is a message of the engine or a message of the
// transport itself. It begins on a cache line:
//
//	byte  0  the record word
//	byte  8  header, three words
//	byte 32  payload
//
// The record word:
//
//	bits 63     1: the record is complete
//	bits 56-62  kind
//	bits 16-55  position of the record in lines, low 40 bits
//	bits  0-15  payload length in bytes
//
// A word that is 0, or that belongs to an earlier lap of the ring, means that the record at
// this position has not been written yet.
const (
	recordHeader = 32

	recordThere     = 1 << 63
	recordKindShift = 56
	recordPosShift  = 16
	recordPosMask   = 1<<40 - 1
	recordLenMask   = 1<<16 - 1
)

// Kinds of record.
const (
	kindMessage = iota // for the engine
	kindSkip           // the rest of this lap holds no record
	kindLane           // the sender continues in the ring whose number is A
	kindReturn         // the sender continues in the inbox
	kindAssist         // the receiver may help with the sender's Get, see assist.go
	kindServe          // the receiver has to copy a piece of exposed memory, see staging.go
	kinds
)

// recordSize returns the number of bytes that a record with n bytes of payload takes.
func recordSize(n uint64) uint64 {
	return (n + recordHeader + lineBytes - 1) &^ (lineBytes - 1)
}

// recordWord encodes the word of a record with n bytes of payload. pos is the position of the
// record in bytes. Positions continue to grow from lap to lap.
func recordWord(kind uint8, pos, n uint64) uint64 {
	return recordThere | uint64(kind)<<recordKindShift | (pos/lineBytes&recordPosMask)<<recordPosShift | n
}

// parseRecord returns the fields of a record word. ok is false if a correct peer never writes this
// word at this position.
func parseRecord(w, pos uint64) (kind uint8, n uint64, ok bool) {
	kind = uint8(w>>recordKindShift) & 0x7f
	n = w & recordLenMask
	ok = w&recordThere != 0 && kind < kinds && n <= maxEager &&
		w>>recordPosShift&recordPosMask == pos/lineBytes&recordPosMask
	return kind, n, ok
}

// awaited reports whether w, read at the position of the next record of a ring with length bytes, means that the
// record has not been written yet.
func awaited(w, pos, length uint64) bool {
	if w == 0 {
		return true
	}
	behind := pos/lineBytes - w>>recordPosShift
	return w&recordThere != 0 && behind&recordPosMask != 0 && behind&(length/lineBytes-1) == 0
}
