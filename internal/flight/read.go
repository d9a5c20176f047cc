package flight

import (
	"bytes"
	"encoding/binary"
	"errors"
	"sync/atomic"
	"time"
)

// Log contains the records of a rank.
type Log struct {
	// Time is the time at which the rank last read the clock. The rank reads the clock soon after each wait,
	// and about every 0.75 s or more often while it computes.
	Time time.Time `json:"time"`
	// Messages contains the rank's last operations on messages. Operations contains the last operations of
	// libraries (see the package comment), most of which are collective operations. In both lists, the oldest
	// operation comes first.
	Messages   []Operation `json:"messages,omitempty"`
	Operations []Operation `json:"operations,omitempty"`
	Counts     Counts      `json:"counts"`
}

// Operation is one operation of a rank.
type Operation struct {
	// Number counts the operations from 0, separately for operations on messages and for operations of
	// libraries. Some numbers are missing.
	Number uint64 `json:"number"`
	Op     string `json:"op"`
	// Message is true for an operation on a message, and false for an operation of a library.
	Message bool `json:"message,omitempty"`
	// Communicator is the number of the communicator at this rank. 0 is the communicator of all ranks.
	Communicator int `json:"communicator"`
	// Peer is the world rank of the destination, the source or the root, or -1 for any or none.
	Peer int `json:"peer"`
	// Tag is the tag of a message, or -1 for any tag. For an operation of a library, Tag is the number of the
	// call.
	Tag int `json:"tag"`
	// Bytes is the length of the message or, for an operation of a library, the length that the library states.
	// For a receive that was recorded before it ended, Bytes is at first the length of the buffer. At the end it
	// becomes the number of received bytes only if a goroutine has waited for the receive for more than about a
	// microsecond.
	Bytes int64 `json:"bytes"`
	State State `json:"state"`
	// Began is the time at which the operation began. Changed is the time at which the operation entered its
	// State. Both times may be too early, because the rank reads the clock only from time to time.
	Began   time.Time `json:"began"`
	Changed time.Time `json:"changed"`
	// Site is the line of the program that called the operation. Caller is the line that called the function
	// of Site. Each is "" if it is not recorded. For an operation on a message, both are recorded only if a
	// goroutine has slept or was parked while it waited for the operation.
	Site   string `json:"site,omitempty"`
	Caller string `json:"caller,omitempty"`
}

// Counts contains the counters of a rank. Messages and Bytes count only messages of the program. Waited and
// Unexpected also count waits and messages of libraries and of gorun itself.
type Counts struct {
	// Messages is the number of operations on messages. Bytes is the number of bytes that these operations
	// have sent and received.
	Messages uint64 `json:"messages"`
	Bytes    uint64 `json:"bytes"`
	// Waited is the time during which at least one goroutine of the rank has waited. It does not include
	// waits that ended within about a microsecond.
	Waited time.Duration `json:"waited"`
	// Unexpected is the number of bytes of unexpected messages that the rank stores.
	Unexpected uint64 `json:"unexpected"`
}

// Errors of Read.
var (
	// ErrNone is the error if there is no record, because the rank has not joined the job.
	ErrNone = errors.New("nothing is recorded")
	// ErrLayout is the error if another version of gorun has written the record.
	ErrLayout = errors.New("recorded by another version of gorun")
)

// Read reads the records of a rank, which may be writing them at the same time. memory is the argument
// of New, or another mapping of that memory. Its contents are not trusted. Read omits records that are being
// written, and records of an unknown state.
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

// ReadCounts reads only the counters of a rank. It also returns the time that Read stores in Log.Time.
func ReadCounts(memory []byte) (Counts, time.Time, error) {
	r, err := open(memory)
	if err != nil {
		return Counts{}, time.Time{}, err
	}
	return r.page.counts.read(r.clock), r.now(), nil
}

// open validates the header and returns a reader.
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

// read returns the counters. clock is the time of the rank's clock. The counters include a wait that is under
// way, up to this time.
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

// now returns the time of the rank's clock.
func (r *reader) now() time.Time { return r.start.Add(time.Duration(r.clock)) }

// ring reads the records in a ring of slots. next is the number of the next record.
func (r *reader) ring(slots *[Slots]slot, next *uint64, message bool) []Operation {
	end := atomic.LoadUint64(next)
	list := make([]Operation, 0, Slots)
	for n := end - min(end, Slots); n != end; n++ {
		words, whole := slots[n%Slots].read(n)
		// After generations*Slots further records, a slot has the same top byte again.
		if whole && atomic.LoadUint64(next)-n < generations*Slots {
			if o := r.operation(n, words); o.State <= Failed {
				o.Message = message
				list = append(list, o)
			}
		}
	}
	return list
}

// read returns the words of record n, and whether all words belong to this record.
func (s *slot) read(n uint64) (words slot, whole bool) {
	for i := range words {
		words[i] = atomic.LoadUint64(&s[i])
		if words[i]>>generationShift != generation(n)>>generationShift {
			return words, false
		}
		if i == 2 && words[i]&short != 0 {
			break // word 3 belongs to an earlier record
		}
	}
	return words, true
}

// operation decodes the words of record n, which Recorder.Moved, Begin or Start has encoded.
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

// time returns the time of a record, given the low 32 bits of its milliseconds since the start. Several times
// have these low bits. Of these times, time returns the nearest to the clock.
func (r *reader) time(low uint64) time.Time {
	millis := r.clock / uint64(time.Millisecond)
	return r.start.Add(time.Duration(millis+uint64(int32(low-millis))) * time.Millisecond)
}

// text returns the text whose number is the low byte of number.
func (r *reader) text(number uint64) string {
	var b [textBytes]byte
	for i := range r.page.texts[uint8(number)] {
		binary.NativeEndian.PutUint64(b[8*i:], atomic.LoadUint64(&r.page.texts[uint8(number)][i]))
	}
	text, _, _ := bytes.Cut(b[:], []byte{0})
	return string(text)
}
