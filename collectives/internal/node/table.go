package node

import (
	"fmt"

	"github.com/gorun-hpc/gorun/collectives/internal/message"
)

// In ScatterVSlots and AllToAllVSlots a slot begins with a table, because not all members know the lengths of the
// blocks. Short blocks follow the table. Long blocks are not in the slot: they are copied by segments, reads or
// messages. (In GatherVSlots a slot has one entry, at offset 0, in place of the table.)
//
//	offset 0     length of the longest block that is not in the slot
//	offset 8+8q  entry of the block for member q: bits 63:16 are its length, bits 15:0 its
//	             offset in the slot, or 0 if it is not in the slot
const (
	placeBits = 16
	placeMask = 1<<placeBits - 1
)

// TableMax is the largest group in which a slot has room for a table and for blocks of the same total
// length as the table.
const TableMax = 64

// entry describes a block: its length, and where it is in the slot.
type entry uint64

func (e entry) length() int { return int(e >> placeBits) }

// inSlot reports whether the block is in the slot.
func (e entry) inSlot() bool { return e&placeMask != 0 }

// entry returns the entry of the block for member q.
func (s *slot) entry(q int) entry { return entry(*uint64At(s.all, 8+8*q)) }

// expect returns ErrLength if the block does not have n bytes. The argument from is the member
// that sends the block.
func (e entry) expect(from, n int) error {
	if e.length() != n {
		return fmt.Errorf("%w: rank %d sent %d bytes, not %d", message.ErrLength, from, e.length(), n)
	}
	return nil
}

// take copies the block of e from the slot to dst. The caller has checked by expect that dst has the
// length of the block.
func (s *slot) take(e entry, dst []byte) error {
	at := int(e & placeMask)
	if at+len(dst) > len(s.all) {
		return fmt.Errorf("%w: a block of %d bytes at %d of a slot", ErrDamaged, len(dst), at)
	}
	copy(dst, s.all[at:])
	return nil
}

// list writes the table of this member's blocks for the other members. The blocks are the parts of the buffer
// send. list also copies the blocks that fit into the slot. rank is this member's rank, size is the number of
// members.
func (s *slot) list(send []byte, parts message.Parts, rank, size int) {
	at, longest := 8+8*size, 0
	for q := range size {
		if q == rank {
			continue
		}
		block := parts.Of(send, q)
		e := entry(len(block)) << placeBits
		if at+len(block) <= len(s.all) {
			e |= entry(at)
			at += copy(s.all[at:], block)
		} else {
			longest = max(longest, len(block))
		}
		*uint64At(s.all, 8+8*q) = uint64(e)
	}
	*uint64At(s.all, 0) = uint64(longest)
}

// longest returns the length of the longest block that is not in the slot.
func (s *slot) longest() int { return int(*uint64At(s.all, 0)) }
