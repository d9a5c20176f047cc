package transporttest

import "github.com/gorun-hpc/gorun/transport"

// lane is the bounded queue of messages from one rank to another. Its slots are
// made when first needed and their buffers are used again, so that a lane that
// has warmed up does not allocate.
type lane struct {
	slots []slot
	// head is the oldest message, count how many there are, bytes their payload.
	head, count, bytes int
}

// slot is one message in flight.
type slot struct {
	header  transport.Header
	payload []byte
	// due is the receiver's poll at which the message may be handed over.
	due uint64
}

// fits reports whether a message of n bytes has room.
func (l *lane) fits(n int, options *FakeOptions) bool {
	if l.count == 0 {
		return true
	}
	return l.count < options.RingMessages && l.bytes+n <= options.RingBytes
}

// push appends a message. fits must have said yes.
func (l *lane) push(h transport.Header, payload []byte, due uint64) {
	if l.count == len(l.slots) {
		l.grow()
	}
	s := &l.slots[(l.head+l.count)%len(l.slots)]
	s.header, s.due = h, due
	s.payload = append(s.payload[:0], payload...)
	l.count++
	l.bytes += len(payload)
}

// grow doubles the slots and puts the oldest message first.
func (l *lane) grow() {
	slots := make([]slot, max(2*len(l.slots), 4))
	for i := range l.count {
		slots[i] = l.slots[(l.head+i)%len(l.slots)]
	}
	l.slots, l.head = slots, 0
}

// ready reports whether the oldest message may be handed over at this poll.
func (l *lane) ready(poll uint64) bool { return l.count > 0 && l.slots[l.head].due <= poll }

// pop removes the oldest message. Its payload is the caller's; spare takes its
// place in the slot.
func (l *lane) pop(spare []byte) (transport.Header, []byte) {
	s := &l.slots[l.head]
	payload := s.payload
	s.payload = spare
	l.head = (l.head + 1) % len(l.slots)
	l.count--
	l.bytes -= len(payload)
	return s.header, payload
}

// clear forgets every message and returns how many there were.
func (l *lane) clear() int {
	n := l.count
	l.head, l.count, l.bytes = 0, 0, 0
	return n
}
