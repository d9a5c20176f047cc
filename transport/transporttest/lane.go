package transporttest

import "github.com/gorun-hpc/gorun/transport"

// lane is the bounded queue of messages from one rank to another. Slots are allocated when they are first
// needed, and buffers are reused. Therefore the lane allocates nothing after some time.
type lane struct {
	slots []slot
	// head is the slot of the oldest message. count is the number of messages. bytes is the total length of
	// their payloads.
	head, count, bytes int
}

// slot is one message in flight.
type slot struct {
	header  transport.Header
	payload []byte
	// due is the number of the first poll of the receiver that may deliver the message.
	due uint64
}

// fits reports whether the lane has room for a message of n bytes.
func (l *lane) fits(n int, options *FakeOptions) bool {
	if l.count == 0 {
		return true
	}
	return l.count < options.RingMessages && l.bytes+n <= options.RingBytes
}

// push appends a message. fits must have returned true.
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

// grow doubles the number of slots and moves the oldest message to the first slot.
func (l *lane) grow() {
	slots := make([]slot, max(2*len(l.slots), 4))
	for i := range l.count {
		slots[i] = l.slots[(l.head+i)%len(l.slots)]
	}
	l.slots, l.head = slots, 0
}

// ready reports whether the poll with this number may deliver the oldest message.
func (l *lane) ready(poll uint64) bool { return l.count > 0 && l.slots[l.head].due <= poll }

// pop removes and returns the oldest message. The caller then owns the payload's buffer, and the slot gets the
// buffer spare in its place.
func (l *lane) pop(spare []byte) (transport.Header, []byte) {
	s := &l.slots[l.head]
	payload := s.payload
	s.payload = spare
	l.head = (l.head + 1) % len(l.slots)
	l.count--
	l.bytes -= len(payload)
	return s.header, payload
}

// clear discards all messages and returns their number.
func (l *lane) clear() int {
	n := l.count
	l.head, l.count, l.bytes = 0, 0, 0
	return n
}
