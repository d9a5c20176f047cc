package flight

import (
	"bytes"
	"encoding/binary"
	"errors"
	"sync/atomic"
	"time"
)

// Log is what a rank has recorded.
type Log struct {
	// Time is when the rank last looked at the clock: soon after each wait, and while it computes four
	// times a second.
	Time time.Time `json:"time"`
	// Messages are its last operations on messages, Operations those of libraries, collective
	// operations above all, the oldest first.
	Messages   []Operation `json:"messages,omitempty"`
	Operations []Operation `json:"operations,omitempty"`
	Counts     Counts      `json:"counts"`
}

// Operation is one operation of a rank.
type Operation struct {
	// Number ascends among the operations of its kind, from 0; some are left out.
	Number uint64 `json:"number"`
	Op     string `json:"op"`
	// Message says that it is one on a message, else it is one of a library.
	Message bool `json:"message,omitempty"`
	// Communicator is the number of the communicator at this rank, 0 of the one of all ranks.
	Communicator int `json:"communicator"`
	// Peer is the world rank of the destination, the source or the root, -1 for any or none.
	Peer int `json:"peer"`
	// Tag is that of a message, -1 for any; of an operation of a library it is the number of the call.
	Tag int `json:"tag"`
	// Bytes is the length of the message; of a receive, that of the buffer.
	Bytes int64 `json:"bytes"`
	State State `json:"state"`
	// Began is when it began, Changed when it came into its state, by a clock that is read at times.
	Began   time.Time `json:"began"`
	Changed time.Time `json:"changed"`
	// Site and Caller are the line of the program that called it, and the one that called that; ""
	// if they are not recorded: of messages, they are for those that a goroutine slept for.
	Site   string `json:"site,omitempty"`
	Caller string `json:"caller,omitempty"`
}

// Counts are what a rank has sent and received, without messages of the library itself.
type Counts struct {
	// Messages are the operations on messages, Bytes what they have moved in both directions.
	Messages uint64 `json:"messages"`
	Bytes    uint64 `json:"bytes"`
	// Waited is for how long one of its goroutines or more have waited, without waits that ended
	// within about a microsecond.
	Waited time.Duration `json:"waited"`
	// Unexpected are the bytes of messages that wait for their receives.
	Unexpected uint64 `json:"unexpected"`
}

// Errors of Read.
var (
	// ErrNone says that there is no record: the rank has not joined the job.
	ErrNone = errors.New("nothing is recorded")
	// ErrLayout says that the record is that of another version of gorun.
	ErrLayout = errors.New("recorded by another version of gorun")
)

// Read reads the record of a rank, which may be writing it: memory is that of New, or a mapping of
// it, and its contents are not trusted. Records that are being written are left out.
func Read(memory []byte) (Log, error) {
	r, err := open(memory)
	if err != nil {
		return Log{}, err
	}
	p := r.page
	l := Log{Time: r.now(), Counts: p.counts.read(r.clock)}
	l.Messages = r.ring(&p.messages, &p.counts.next, true)
	l.Operations = r.ring(&p.operations, &p.calls.next, false)
	return l, nil
}

// ReadCounts reads Counts and Time of the Log alone.
func ReadCounts(memory []byte) (Counts, time.Time, error) {
	r, err := open(memory)
	if err != nil {
		return Counts{}, time.Time{}, err
	}
	return r.page.counts.read(r.clock), r.now(), nil
}

// open examines the header.
func open(memory []byte) (reader, error) {
	p := pageOf(memory)
	if p == nil || atomic.LoadUint64(&p.header.magic) != magic {
		return reader{}, ErrNone
	}
	if atomic.LoadUint64(&p.header.version) != version {
		return reader{}, ErrLayout
	}
	return reader{page: p, start: time.Unix(0, int64(atomic.LoadUint64(&p.header.start))), clock: atomic.LoadUint64(&p.header.clock)}, nil
}

// read returns the counters. clock is that of the rank, up to which a wait under way counts.
func (c *counts) read(clock uint64) Counts {
	waited := atomic.LoadUint64(&c.waited)
	if since := atomic.LoadUint64(&c.waiting); since != 0 && clock > since {
		waited += clock - since
	}
	return Counts{
		Messages: atomic.LoadUint64(&c.next), Bytes: atomic.LoadUint64(&c.bytes),
		Waited: time.Duration(waited), Unexpected: atomic.LoadUint64(&c.unexpected),
	}
}

// reader reads the records of a page.
type reader struct {
	page  *page
	start time.Time
	clock uint64 // in nanoseconds since start
}

// now is the time of the clock.
func (r *reader) now() time.Time { return r.start.Add(time.Duration(r.clock)) }

// ring reads the records of a ring of which next is the number of the next one.
func (r *reader) ring(slots *[Slots]slot, next *uint64, message bool) []Operation {
	end := atomic.LoadUint64(next)
	list := make([]Operation, 0, Slots)
	for n := end - min(end, Slots); n != end; n++ {
		words, whole := slots[n%Slots].read(n)
		if whole && atomic.LoadUint64(next)-n < generations*Slots { // else its number may be that of a later one
			o := r.operation(n, words)
			o.Message = message
			list = append(list, o)
		}
	}
	return list
}

// read returns the words of record n, and whether all are of this record.
func (s *slot) read(n uint64) (words slot, whole bool) {
	for i := range words {
		words[i] = atomic.LoadUint64(&s[i])
		if words[i]>>generationShift != generation(n)>>generationShift {
			return words, false
		}
		if i == 2 && words[i]&short != 0 {
			break // word 3 is that of an earlier record
		}
	}
	return words, true
}

// operation is the inverse of Recorder.Moved, Begin and Start.
func (r *reader) operation(n uint64, w slot) Operation {
	o := Operation{
		Number: n, Op: r.text(w[1] >> operationShift), Communicator: int(uint32(w[0]) / Contexts), Peer: int(w[0] >> peerShift & peerNone),
		Tag: int(int32(w[1])), Bytes: int64(w[2] >> bytesShift & bytesMost),
		Began: r.time(w[1]>>highShift&0xffff<<16 | w[2]&0xffff),
	}
	if o.Peer == peerNone {
		o.Peer = -1
	}
	if w[2]&short != 0 {
		o.State, o.Changed = Done, o.Began
		return o
	}
	o.State, o.Changed = State(w[3]>>stateShift), r.time(w[3]&timeMask)
	o.Site, o.Caller = r.text(w[3]>>(callerShift+8)), r.text(w[3]>>callerShift)
	return o
}

// time is the time of a record from its low 32 bits: that nearest to the clock.
func (r *reader) time(low uint64) time.Time {
	millis := r.clock / uint64(time.Millisecond)
	return r.start.Add(time.Duration(millis+uint64(int32(low-millis))) * time.Millisecond)
}

// text returns a text by the low byte of its number.
func (r *reader) text(number uint64) string {
	var b [textBytes]byte
	for i := range r.page.texts[uint8(number)] {
		binary.NativeEndian.PutUint64(b[8*i:], atomic.LoadUint64(&r.page.texts[uint8(number)][i]))
	}
	text, _, _ := bytes.Cut(b[:], []byte{0})
	return string(text)
}
