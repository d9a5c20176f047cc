package rdma

import (
	"fmt"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

const (
	// sendMemoryMax bounds the registered memory for frames that this rank sends on one rail, in
	// bytes, for all peers together. It equals credit.BudgetBytes, the bound for receives in a job of up to a thousand
	// ranks. The first buffers of each size, and the buffers that the method lend makes, are registered even beyond this
	// bound.
	sendMemoryMax = 64 << 20
	// sendChunk is the number of bytes of buffers that are registered at a time: one registration, which is a system
	// call at an adapter of the kernel, serves 256 buffers of the smallest size. At least four buffers are
	// registered at a time, also if they are larger.
	sendChunk = 64 << 10
	// classes is the number of sizes of buffers: classSmall, classMiddle and slotDefault bytes, and the
	// size of a receive. No size is larger than the size of a receive. With the default receives, each size is at most
	// 8.5 times the next smaller size. So a frame of 256 bytes or more takes a buffer of at most 8.5 times its length.
	classes     = 4
	classSmall  = 256
	classMiddle = 2 << 10
)

// buffer is registered memory for one frame. It belongs to the caller of take or lend until give
// returns it.
type buffer struct {
	// whole is the memory of the frame, with the room before and after the frame.
	whole []byte
	lkey  uint32
	class uint8
}

// sendMemory lends buffers of a few sizes. The largest size is the size of a receive.
type sendMemory struct {
	domain registrar
	sizes  [classes]int
	free   [classes][]buffer
	// grown reports, for each size, whether there are buffers of this size. total is the number of bytes of all buffers.
	grown [classes]bool
	total int
	room  room
}

func newSendMemory(a *verbs.Adapter, d *verbs.ProtectionDomain, slot int) *sendMemory {
	m := &sendMemory{domain: d, room: roomOf(a, slot)}
	m.sizes = [classes]int{min(classSmall, slot), min(classMiddle, slot), min(slotDefault, slot), slot}
	return m
}

// take returns a buffer of at least n bytes. It returns false if no buffer of the smallest sufficient size is
// free and the memory has reached sendMemoryMax. If there has never been a buffer of this size, take makes some in
// any case, because all the memory may consist of free buffers of other sizes. n is at most the size of a receive.
func (m *sendMemory) take(n int) (buffer, bool, error) {
	c := m.class(n)
	if len(m.free[c]) == 0 {
		if m.grown[c] && m.total+m.sizes[c] > sendMemoryMax {
			return buffer{}, false, nil
		}
		if err := m.grow(uint8(c)); err != nil {
			return buffer{}, false, err
		}
	}
	return m.pop(c), true, nil
}

// lend returns a buffer like take, but without the bound sendMemoryMax. It is for frames that were
// built for another rail.
func (m *sendMemory) lend(n int) (buffer, error) {
	c := m.class(n)
	if len(m.free[c]) == 0 {
		if err := m.grow(uint8(c)); err != nil {
			return buffer{}, err
		}
	}
	return m.pop(c), nil
}

// class returns the smallest class of buffers of at least n bytes.
func (m *sendMemory) class(n int) int {
	c := 0
	for m.sizes[c] < n {
		c++
	}
	return c
}

// pop removes and returns a free buffer of a class. The caller ensures that there is a free buffer.
func (m *sendMemory) pop(c int) buffer {
	free := m.free[c]
	b := free[len(free)-1]
	m.free[c] = free[:len(free)-1]
	return b
}

// bytes returns the bytes of a buffer, without the room before them. Their number is at least the
// size of the buffer's class.
func (m *sendMemory) bytes(b *buffer) []byte { return b.whole[m.room.head:] }

// framed returns the first n bytes of a buffer, with the room before and after them.
func (m *sendMemory) framed(b *buffer, n int) []byte { return b.whole[:m.room.head+n+m.room.tail] }

// give puts a buffer back, so that it is free.
func (m *sendMemory) give(b buffer) { m.free[b.class] = append(m.free[b.class], b) }

// grow registers more buffers of a class.
func (m *sendMemory) grow(class uint8) error {
	size := m.sizes[class]
	count, first, stride := max(sendChunk/size, 4), m.room.first(leadOf(size)), m.room.stride(size)
	region, err := m.domain.Register(make([]byte, first+count*stride), verbs.AccessLocalWrite)
	if err != nil {
		return fmt.Errorf("register %d send buffers of %d bytes: %w", count, size, err)
	}
	m.grown[class] = true
	m.total += count * size
	for i := range count {
		s := region.Segment(first+i*stride-m.room.head, m.room.head+size+m.room.tail)
		m.free[class] = append(m.free[class], buffer{s.Data, s.LKey, class})
	}
	return nil
}
