package rdma

import (
	"fmt"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// receivesPerChunk is the number of receives whose memory is registered together, as a chunk.
const receivesPerChunk = 64

const (
	// lead is the offset of the first frame in page-aligned memory, chosen so that the payload of
	// the frame's first message begins on a cache line. Users' slices usually begin on a cache line,
	// too. A copy of 8 KiB takes three times as long if source and destination have different offsets
	// from a cache line, and a message is copied four times.
	lead = (line - (headBytes+recordBytes)%line) % line
	line = 64
	// leadMin is the minimum size in bytes of the frames for which lead is used. In large jobs the
	// frames are shorter, and saving the memory for lead is more important.
	leadMin = 16 << 10
)

// leadOf returns lead for frames of at least leadMin bytes, and 0 for shorter frames.
func leadOf(size int) int {
	if size < leadMin {
		return 0
	}
	return lead
}

// room is the space around a frame: head bytes before the frame and tail bytes after it, for the
// headers and trailers of the adapter, so that they are contiguous with the frame. flag is FlagRoom,
// or 0 if there is no room.
type room struct {
	head, tail int
	flag       verbs.RequestFlags
}

// roomOf returns the room of frames of a size. Short frames have no room, because for short frames
// saving memory is more important.
func roomOf(a *verbs.Adapter, size int) room {
	limits := a.Attributes()
	if size < leadMin || limits.Headroom+limits.Tailroom == 0 {
		return room{}
	}
	return room{limits.Headroom, limits.Tailroom, verbs.FlagRoom}
}

// first returns the offset of the first frame in a region: the number of bytes of room before the
// frame, rounded up to a multiple of a cache line, plus lead.
func (r room) first(lead int) int { return r.aligned(r.head) + lead }

// stride returns the distance from one frame of a size to the next.
func (r room) stride(size int) int { return size + r.aligned(r.head+r.tail) }

// aligned rounds n up to a multiple of a cache line.
func (room) aligned(n int) int { return (n + line - 1) &^ (line - 1) }

// receives is the memory into which the messages of all peers arrive: slots of one size in a shared
// receive queue. A slot is spare, posted, or in use. It is in use from its completion until it is
// posted again or becomes spare.
type receives struct {
	domain registrar
	queue  *verbs.SharedReceiveQueue
	slot   int // bytes
	lead   int // offset of the first slot of a chunk, without room
	room   room
	chunks []*verbs.MemoryRegion
	// active is the number of slots that are posted or in use. wanted is the number of slots that
	// are needed.
	active, wanted int
	spare          []uint32
	// request is the receive that the method post reuses. post sets its ID and the element of segments.
	request  verbs.ReceiveRequest
	segments [1]verbs.Segment
}

// newReceives makes a shared receive queue. The argument most is the maximum number of slots.
func newReceives(a *verbs.Adapter, d *verbs.ProtectionDomain, slot, most int) (*receives, error) {
	queue, err := a.NewSharedReceiveQueue(verbs.SharedReceiveConfig{Domain: d, MaxReceives: most, MaxSegments: 1})
	if err != nil {
		return nil, err
	}
	r := &receives{domain: d, queue: queue, slot: slot, lead: leadOf(slot), room: roomOf(a, slot)}
	r.request.Flags, r.request.Segments = r.room.flag, r.segments[:]
	return r, nil
}

// need sets the number of needed slots to n, and posts slots until at least n slots are active.
func (r *receives) need(n int) error {
	r.wanted = n
	for r.active < n {
		if len(r.spare) == 0 {
			if err := r.grow(); err != nil {
				return err
			}
		}
		id := r.spare[len(r.spare)-1]
		if err := r.post(id); err != nil {
			return err
		}
		r.spare = r.spare[:len(r.spare)-1]
		r.active++
	}
	return nil
}

// grow registers memory for more slots.
func (r *receives) grow() error {
	region, err := r.domain.Register(make([]byte, r.offset(receivesPerChunk-1)+r.slot+r.room.tail), verbs.AccessLocalWrite)
	if err != nil {
		return fmt.Errorf("register %d receives of %d bytes: %w", receivesPerChunk, r.slot, err)
	}
	for i := range receivesPerChunk {
		r.spare = append(r.spare, uint32(len(r.chunks)*receivesPerChunk+receivesPerChunk-1-i))
	}
	r.chunks = append(r.chunks, region)
	return nil
}

// offset returns the offset of a slot in its chunk.
func (r *receives) offset(id uint32) int {
	return r.room.first(r.lead) + int(id%receivesPerChunk)*r.room.stride(r.slot)
}

// bytes returns the first n bytes of a slot.
func (r *receives) bytes(id uint32, n int) []byte {
	off := r.offset(id)
	return r.chunks[id/receivesPerChunk].Bytes()[off : off+n : off+n]
}

// post posts a slot.
func (r *receives) post(id uint32) error {
	r.segments[0] = r.chunks[id/receivesPerChunk].Segment(r.offset(id)-r.room.head, r.room.head+r.slot+r.room.tail)
	r.request.ID = uint64(id)
	return r.queue.PostReceive(&r.request)
}

// recycle posts a slot whose message was handled, or makes it spare if fewer slots are needed than
// are active.
func (r *receives) recycle(id uint32) error {
	if r.active > r.wanted {
		r.active--
		r.spare = append(r.spare, id)
		return nil
	}
	return r.post(id)
}
