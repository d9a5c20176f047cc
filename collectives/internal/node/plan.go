package node

// slotsMin and slotsMax bound the number of slots, the small buffers, of a part. The number is a
// power of two. With several slots a root can run ahead of its readers. If each member has a
// processor, such a root seldom has to fetch the cache lines with the done words from the readers'
// processors. If members share processors, a member executes many operations in a time slice. A part
// has more than slotsMin slots only if members share processors and the slots of all parts together have
// at most slotsBytes bytes.
const (
	slotsMin   = 16
	slotsMax   = 64
	slotsBytes = 2 << 20
)

// The layout of a part of the memory of the small operations. Each word and each flag has a cache
// line of its own. The arrival counter, the release word and the complete word are used only in the
// part of rank 0. BarrierFlags uses the flags. The statements are descriptions of the calls that the
// part's owner has made.
const (
	doneOffset     = 0
	arrivalOffset  = line
	releaseOffset  = 2 * line
	completeOffset = 3 * line
	flagsOffset    = 4 * line
	flagCount      = 12 // a flag for each round, enough for 4096 members
	saidOffset     = flagsOffset + flagCount*line
	slotsOffset    = saidOffset + statementsLength
)

func flagOffset(round int) int { return flagsOffset + round*line }

// plan holds the sizes of buffers, which depend on the number of members. For 256 members all parts
// together have less than 20 MiB, including pages that are never touched.
type plan struct {
	slotBytes int // the length of a slot in bytes, its first cache line included
	slots     int // the number of slots of a part, a power of two
	lag       int // after a wait for a free slot, others have finished all steps up to the current step minus lag
	segment   int // the greatest length in bytes of a segment of a large operation
	depth     int // the number of segments that a part holds
	room      int // the bytes of a part for each of these segments, at least segment
}

// The sizes of the large operations' memory: flowBytes and crowdedBytes limit the length of the
// segments of all parts together. However, a segment has at least 4 KiB (flow) or 16 KiB (crowded), even if
// the segments of all parts then exceed the limit. flowDepth and crowdedDepth are the number of segments of a part.
// flowMax and crowdedMax are the largest length of a segment. The names with flow apply if each
// member has a processor: many short segments keep the pipeline busy. The names with crowded apply if
// members share processors: a member should move much data in a time slice.
const (
	flowBytes    = 4 << 20
	flowDepth    = 8
	flowMax      = 128 << 10
	crowdedBytes = 8 << 20
	crowdedDepth = 2
	crowdedMax   = 256 << 10
	// A part should be longer than the second-level cache of a processor, see ring.segment. For this
	// purpose, parts are made longer only up to roomBytes bytes of all parts together.
	roomBytes = 16 << 20
	roomMax   = 2 << 20 // the largest length of a part
	// faultInMax is a limit for the length of all parts together. Up to this length, each member
	// faults in the pages of all parts when it opens them. These page faults take the member about
	// 50 us for each MiB.
	faultInMax = 17 << 20
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

// setSlots sets the number of slots. If members share processors, a member that must wait for a free
// slot waits until half of its slots are free. If the member waited for only one slot, it would have
// to wait again, and so switch to another member, in each of the next steps.
func (p *plan) setSlots(n int, crowded bool) {
	p.slots, p.lag = n, n
	if crowded {
		p.lag = n / 2
	}
}

// Limits returns three lengths in bytes. small is the largest contribution of one member to a small
// operation. element is the largest element of a large operation. part is the largest element of a
// large operation whose segments are divided into lanes, one for each other member.
func Limits(size int, crowded bool) (small, element, part int) {
	p := planFor(size, crowded)
	return p.slotBytes - line, p.segment, laneOf(p.segment, size)
}

// laneOf returns the number of bytes that a segment has for each of the other members.
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

// slot is a small buffer. If a contribution fits into the slice inline, it is in the same cache line as
// the word that announces it, so that only one line has to be transferred.
type slot struct {
	word         *Word
	inline, body []byte
	// The slice all is inline and body together.
	all []byte
}

func (p plan) slot(part []byte, i int) slot {
	b := part[slotsOffset+i*p.slotBytes:][:p.slotBytes]
	return slot{word: wordAt(b, 0), inline: b[8:line], body: b[line:], all: b[8:]}
}

// room returns the part of the slot for a contribution of n bytes.
func (s *slot) room(n int) []byte {
	if n <= len(s.inline) {
		return s.inline[:n]
	}
	return s.body[:n]
}
