package node

// slotsMin, slotsMax and slotsBytes bound the small buffers of a part, of which there is a power of
// two. They let a root run ahead of its readers: with a processor for each member the words by which
// readers give buffers back seldom cross between processors, and members that share processors do many
// operations in a time slice.
const (
	slotsMin   = 16
	slotsMax   = 64
	slotsBytes = 2 << 20 // of all parts together
)

// The small part: one line for the done word, then in rank 0's part the arrival
// counter and the release word, then the barrier's flags, then the members' statements of
// their calls, then the slots.
const (
	doneOffset     = 0
	arrivalOffset  = line
	releaseOffset  = 2 * line
	completeOffset = 3 * line
	flagsOffset    = 4 * line
	flagCount      = 12 // rounds: up to 4096 members
	saidOffset     = flagsOffset + flagCount*line
	slotsOffset    = saidOffset + statementsLength
)

func flagOffset(round int) int { return flagsOffset + round*line }

// plan holds the sizes, which depend on the number of members: all parts together stay
// below 20 MiB for 256 members, including pages that are never touched.
type plan struct {
	slotBytes int // of a slot, its first line included
	slots     int // a part holds, a power of two
	lag       int // steps that others may be behind a member after it has waited for a slot
	segment   int // of a segment of a large operation, per part
	depth     int // segments a part holds
	room      int // bytes a part has for each of them, at least a segment
}

// The budgets of all parts together. With a processor for each member, many short segments
// keep the pipeline busy; when members share processors, each time slice should move much.
const (
	flowBytes    = 4 << 20
	flowDepth    = 8
	flowMax      = 128 << 10
	crowdedBytes = 8 << 20
	crowdedDepth = 2
	crowdedMax   = 256 << 10
	// A part should be longer than the second-level cache of a processor, see ring.segment.
	roomBytes = 16 << 20
	roomMax   = 2 << 20 // of a part
)

func planFor(size int, crowded bool) plan {
	p := plan{slotBytes: 512, depth: flowDepth}
	switch {
	case size <= 8:
		p.slotBytes = 4<<10 + line
	case size <= 64:
		p.slotBytes = 1<<10 + line
	}
	p.segment = min(max(flowBytes/(flowDepth*size), 4<<10), flowMax)
	slots := slotsMin
	for crowded && slots < slotsMax && 2*slots*p.slotBytes*size <= slotsBytes {
		slots *= 2
	}
	p.setSlots(slots, crowded)
	if crowded {
		p.depth = crowdedDepth
		p.segment = min(max(crowdedBytes/(crowdedDepth*size), 16<<10), crowdedMax)
	}
	p.segment &^= line - 1
	p.room = p.segment
	if !crowded {
		p.room = max(p.room, min(roomBytes/size, roomMax)/p.depth&^(line-1))
	}
	return p
}

// setSlots sets the number of slots. Of members that share processors, one that waits for a slot waits
// for half of them: it would switch again for each other one.
func (p *plan) setSlots(n int, crowded bool) {
	p.slots, p.lag = n, n
	if crowded {
		p.lag = n / 2
	}
}

// Limits returns the largest contribution of one rank to a small operation, the largest element
// of a large one, and that of a large one in which each other member has a part of a segment, in
// bytes.
func Limits(size int, crowded bool) (small, element, part int) {
	p := planFor(size, crowded)
	return p.slotBytes - line, p.segment, laneOf(p.segment, size)
}

// laneOf is how many bytes a segment has for each of the other members.
func laneOf(segment, size int) int {
	n := segment / max(size-1, 1)
	if n > line {
		n -= n % line
	}
	return max(n, 1)
}

// FlagsMax is the largest group that BarrierFlags serves.
const FlagsMax = 1 << flagCount

func (p plan) smallPart() int { return slotsOffset + p.slots*p.slotBytes }

func (p plan) largePart() int { return line + p.depth*p.room }

// slot is a small buffer. A contribution that fits lies in the same cache line
// as the word that announces it, so that one line travels.
type slot struct {
	word         *Word
	inline, body []byte
	// all is inline and body.
	all []byte
}

func (p plan) slot(part []byte, i int) slot {
	b := part[slotsOffset+i*p.slotBytes:][:p.slotBytes]
	return slot{word: wordAt(b, 0), inline: b[8:line], body: b[line:], all: b[8:]}
}

// room returns where n bytes of a contribution lie.
func (s *slot) room(n int) []byte {
	if n <= len(s.inline) {
		return s.inline[:n]
	}
	return s.body[:n]
}
