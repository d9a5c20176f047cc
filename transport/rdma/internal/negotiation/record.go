package negotiation

import (
	"crypto/sha256"
	"encoding/binary"
)

// Size is the length of a Record in bytes, ProofSize the length of a proof.
const (
	Size      = 56
	ProofSize = tagSize
)

// The version of the record that this package writes.
const (
	Major = 2
	Minor = 0
)

// The range of major versions that this package reads.
const (
	majorMin = 2
	majorMax = 2
)

const (
	magic   = 0x6752
	tagAt   = 40
	tagSize = Size - tagAt
	nonceAt = 28
	// slotUnit is the unit of the eager slot (the size of eager receives) on the wire, in bytes.
	slotUnit = 1 << 10
	// reservedSize is the number of reserved bytes between the purpose and the nonce.
	reservedSize = 3
)

// MaxSlot is the largest eager slot in bytes that a record can contain.
const MaxSlot = 256 * slotUnit

// kind is the type field of a record.
type kind uint8

const (
	kindRequest kind = 1
	kindReply   kind = 2
	kindReject  kind = 3
	kindProof   kind = 4 // not a record, but the proof at the end of the first message
)

// Features are the optional features of a side, one bit each. A connection has the features that
// both sides have: their bits are combined by AND.
type Features uint16

// WithoutCRC is set if the source can do without checksums.
const WithoutCRC Features = 1 << 5

// Purpose is the purpose for which a connection is requested.
type Purpose uint8

const (
	// Lane requests the connection of two ranks, which carries messages and transfers.
	Lane Purpose = iota
	// Look asks whether a connection could be made between the two adapters of the request. A
	// request with this purpose is called a look, and is always refused. The reason is Reachable if
	// the connection could be made.
	Look
	// Bulk requests an additional connection of two ranks, for parts of long transfers of the
	// active side.
	Bulk
)

// Record describes one side of a connection, and the values that this side offers (in a request) or
// grants (in a reply).
type Record struct {
	// Job is the JobHash of the job's id.
	Job uint32
	// Source is the rank that wrote the record.
	Source uint32
	// Incarnation is the incarnation of the source.
	Incarnation uint16
	// Attempt is, in a request, the number of this attempt of the source to connect to this peer. The attempts with
	// the same Purpose have consecutive numbers.
	// In a reply, Attempt is the number of the latest attempt of the replying rank to connect to
	// this peer. The replying rank has abandoned this attempt and all attempts before it.
	Attempt uint16
	// Depths are the numbers of reads in flight that the source offers or grants.
	Depths Depths
	// Credits is the number of receives that the source has posted for the peer, without the
	// receives reserved for control frames.
	Credits uint16
	// Slot is the size in bytes of each of these receives, a multiple of 1 KiB up to MaxSlot. The
	// encoder rounds Slot down to a multiple of 1 KiB, but not below 1 KiB.
	Slot int
	// Rail is the number of the source's adapter on which the connection is made.
	Rail uint8
	// Features are the features that the source supports.
	Features Features
	// Purpose is the purpose of a request. A reply does not set it.
	Purpose Purpose
	// Nonce differs in each record.
	Nonce Nonce
}

// Nonce makes a record different from every other record. It comes from the system's generator of
// random numbers.
type Nonce [12]byte

// JobHash returns the number by which a record identifies a job.
func JobHash(id string) uint32 {
	sum := sha256.Sum256([]byte(id))
	return binary.BigEndian.Uint32(sum[:])
}

// append appends the record to b without its tag: the first 40 bytes.
func (r *Record) append(b []byte, k kind) []byte {
	b = binary.BigEndian.AppendUint16(b, magic)
	b = append(b, Major<<4|Minor, byte(k)<<4|Size/4)
	b = binary.BigEndian.AppendUint32(b, r.Job)
	b = binary.BigEndian.AppendUint32(b, r.Source)
	b = binary.BigEndian.AppendUint16(b, r.Incarnation)
	b = binary.BigEndian.AppendUint16(b, r.Attempt)
	b = append(b, depthByte(r.Depths.IRD), depthByte(r.Depths.ORD))
	b = binary.BigEndian.AppendUint16(b, r.Credits)
	b = append(b, byte(slotOf(r.Slot)/slotUnit-1), r.Rail)
	b = binary.BigEndian.AppendUint16(b, uint16(r.Features))
	b = append(b, byte(r.Purpose))
	b = append(b, make([]byte, reservedSize)...)
	return append(b, r.Nonce[:]...)
}

// slotOf returns the size of an eager slot as a record can contain it. The argument bytes is the
// wanted size.
func slotOf(bytes int) int { return min(max(bytes/slotUnit, 1)*slotUnit, MaxSlot) }

// parse returns the fields of the record b. The caller has checked the frame of b (checkFrame).
func parse(b []byte) Record {
	return Record{
		Job:         binary.BigEndian.Uint32(b[4:]),
		Source:      binary.BigEndian.Uint32(b[8:]),
		Incarnation: binary.BigEndian.Uint16(b[12:]),
		Attempt:     binary.BigEndian.Uint16(b[14:]),
		Depths:      Depths{IRD: min(int(b[16]), MaxDepth), ORD: min(int(b[17]), MaxDepth)},
		Credits:     binary.BigEndian.Uint16(b[18:]),
		Slot:        (int(b[20]) + 1) * slotUnit,
		Rail:        b[21],
		Features:    Features(binary.BigEndian.Uint16(b[22:])),
		Purpose:     Purpose(b[24]),
		Nonce:       Nonce(b[nonceAt:]),
	}
}

// checkFrame checks the first four bytes, whose layout is the same in all versions and types of
// records, and the length.
func checkFrame(b []byte, k kind) error {
	if len(b) < 4 {
		return refuse(BadLength, "the private data has %d bytes, too few for a record", len(b))
	}
	if got := binary.BigEndian.Uint16(b); got != magic {
		return refuse(BadLength, "the private data starts with %#04x; a record starts with %#04x", got, magic)
	}
	if major := b[2] >> 4; major < majorMin || major > majorMax {
		return refuse(Version, "the record has version %d.%d", major, b[2]&0x0F)
	}
	if got := kind(b[3] >> 4); got != k {
		return refuse(BadLength, "the record has type %d, and type %d is expected", got, k)
	}
	if got := int(b[3]&0x0F) * 4; got != Size || len(b) < Size {
		return refuse(BadLength, "the record has %d bytes according to its header, %d bytes are expected, and %d bytes were received", got, Size, len(b))
	}
	return nil
}
