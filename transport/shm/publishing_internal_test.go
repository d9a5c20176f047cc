package shm

import (
	"encoding/binary"
	goruntime "runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport"
)

// record returns the header and payload of the n-th record that TestRecordsArePublished sends.
func record(n uint64) (transport.Header, []byte) {
	payload := make([]byte, 8*(n%40))
	for i := range len(payload) / 8 {
		binary.NativeEndian.PutUint64(payload[8*i:], n+uint64(i))
	}
	return transport.Header{A: n, B: ^n, C: uint64(len(payload))}, payload
}

// A reader that sees the word of a record sees the whole record, and a writer that sees the
// reader's progress may overwrite the records that were read. The race detector checks both
// happens-before relations; it can do so because this node memory is on the heap.
func TestRecordsArePublished(t *testing.T) {
	const records = 5000
	for _, c := range []struct {
		name string
		ends func(fence bool) (put func(h transport.Header, payload []byte) verdict, get func() (transport.Header, []byte, func()))
	}{
		{"ring", ringEnds},
		{"inbox", inboxEndsOf},
	} {
		for name, fence := range map[string]bool{"fenced": true, "unfenced": false} {
			t.Run(c.name+"/"+name, func(t *testing.T) {
				put, get := c.ends(fence)
				go func() {
					for n := range uint64(records) {
						for h, payload := record(n); put(h, payload) != written; {
							goruntime.Gosched()
						}
					}
				}()
				for n := uint64(0); n < records; {
					h, payload, done := get()
					if done == nil {
						goruntime.Gosched()
						continue
					}
					wantHeader, want := record(n)
					require.Equal(t, wantHeader, h)
					require.Equal(t, want, append([]byte{}, payload...), "record %d", n)
					done()
					n++
				}
			})
		}
	}
}

// ringEnds returns a function that puts a record into a ring and one that gets a record from it. The
// second function also returns a function that frees the record, or nil if the ring is empty.
func ringEnds(fence bool) (func(transport.Header, []byte) verdict, func() (transport.Header, []byte, func())) {
	s, head := heapSegment(ringBytes), new(uint64)
	w, r := newRingWriter(s, shortRingBytes, head, fence), newRingReader(s, shortRingBytes, head)
	put := func(h transport.Header, payload []byte) verdict { return w.put(kindMessage, h, payload) }
	var get func() (transport.Header, []byte, func())
	get = func() (transport.Header, []byte, func()) {
		word := r.poll()
		if word == 0 {
			return transport.Header{}, nil, nil
		}
		kind, h, payload, ok := r.record(word)
		if !ok {
			panic("damaged")
		}
		if kind == kindSkip {
			r.advance(kind, 0)
			return get()
		}
		return h, payload, func() { r.advance(kind, uint64(len(payload))) }
	}
	return put, get
}

// inboxEndsOf returns the same functions as ringEnds, for an inbox with one producer.
func inboxEndsOf(fence bool) (func(transport.Header, []byte) verdict, func() (transport.Header, []byte, func())) {
	ends := newInboxEnds(heapSegment(controlBytes(ringBytes)))
	w, r := inboxWriter{inboxEnds: ends, fence: fence}, inboxReader{inboxEnds: ends}
	put := func(h transport.Header, payload []byte) verdict { return w.put(kindMessage, h, payload) }
	var get func() (transport.Header, []byte, func())
	get = func() (transport.Header, []byte, func()) {
		word, any := r.poll()
		state, lines, _, ok := parseSlot(word, r.pos)
		switch {
		case !any || state == slotClaimed:
			return transport.Header{}, nil, nil
		case !ok:
			panic("damaged")
		case state == slotSkip:
			r.advance(lines)
			return get()
		}
		_, h, payload, ok := r.record(lines)
		if !ok {
			panic("damaged")
		}
		return h, payload, func() { r.advance(lines) }
	}
	return put, get
}
