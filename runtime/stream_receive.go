package runtime

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"

	"github.com/gorun-hpc/gorun/internal/callsite"
	"github.com/gorun-hpc/gorun/runtime/internal/engine"
	"github.com/gorun-hpc/gorun/runtime/internal/value"
)

// inflow is the receiving end of a stream.
type inflow struct {
	comm   *Comm
	from   engine.Match // of the next frame
	tag    int
	number uint32
	opened bool // the first frame has been received
	// taken counts the values and bytes that the loop has taken. told counts the values and bytes
	// that credits have reported.
	taken, told flow
	// length is the length in bytes of the frame that was received last.
	length int
	ended  bool    // the last frame has been received
	room   *[]byte // memory for frames, from the pool encodings
}

// Stream returns the values that a SendStream of source with this tag sends. Each loop over the
// result receives one stream. If source is AnySource, the loop receives the stream whose first
// frame arrives first. Several goroutines may receive streams with the same source and tag at the same
// time, and a loop may contain another loop. Each loop receives a stream of its own. The tag cannot be
// AnyTag. If the loop is slower than the sender, the sender waits. If the stream fails, the last pair has
// an error. The error is a StreamError with the text of the sender's error if the sender has failed, and a PeerError
// if the sender is lost. It is a ValueError if a value cannot be decoded, and a MemoryError if there is no memory for
// a value. Any other error is an error of c. If the program leaves the loop early, the sender's SendStream ends with
// ErrStreamStopped; the receiver does not wait for the end of SendStream. Values that were already sent then stay in
// memory until the next Stream or SendStream on c, or until c is closed. If source is ProcNull, there are no
// values.
//
//	for v, err := range runtime.Stream[Line](c, 0, 7) {
//		if err != nil {
//			return err
//		}
//		...
//	}
//
// Stream is not inlined, because its closure would then have the name of the caller's package, and errors would name
// this file as the place of the call.
//
//go:noinline
func Stream[T any](c *Comm, source, tag int) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var zero T
		s, err := c.newInflow(source, tag)
		if err != nil {
			yield(zero, err)
			return
		}
		if s == nil {
			return
		}
		defer s.close()
		for {
			b, first, err := s.next()
			if err != nil || s.ended {
				if err != nil {
					yield(zero, err)
				}
				return
			}
			var v T
			if first {
				err = value.Decode(b, &v)
			} else {
				err = value.DecodeRest(b, &v)
			}
			if err != nil {
				yield(zero, valueError[T]("Stream", s.comm.rankOf(s.from.Peer), s.tag, err))
				return
			}
			if !yield(v, nil) {
				return
			}
			s.took()
		}
	}
}

// newInflow checks the arguments of a Stream and returns its receiving end, or nil if source is
// ProcNull.
func (c *Comm) newInflow(source, tag int) (*inflow, error) {
	in, err := c.incoming(valueElement, nil, source, tag)
	if err == nil && tag == AnyTag {
		err = callsite.At(checkTag(tag))
	}
	if err != nil || in.from.Peer == ProcNull {
		return nil, err
	}
	c.core.leftovers.discard(c.engine)
	in.from.Context = c.streamContext()
	room := encodings.Get().(*[]byte)
	if cap(*room) < frameHead { // Matched.bytes needs room for the head of a frame if there is no other memory
		*room = make([]byte, 0, frameHead)
	}
	return &inflow{comm: c, from: in.from, tag: tag, room: room}, nil
}

// next receives the next frame and returns the bytes of its value; the result first reports whether
// the frame is the first of the stream. At the end of the stream, next sets ended instead.
func (s *inflow) next() (b []byte, first bool, err error) {
	m, err := s.comm.engine.Mprobe(s.comm.ctx, s.from)
	if err != nil {
		return nil, false, s.comm.failed(err)
	}
	matched := s.comm.matched(m)
	matched.status.Tag = s.tag
	b, status, err := matched.bytes(*s.room)
	if _, short := errors.AsType[*MemoryError](err); err != nil && (!short || len(b) < frameHead) {
		return nil, false, err
	}
	if err == nil && cap(b) <= encodingKept {
		*s.room = b[:0] // length 0, because SendValue appends to the slices of the pool
	}
	if len(b) < frameHead {
		return nil, false, s.malformed(status.Source, "it is too short")
	}
	kind, number := b[0], binary.LittleEndian.Uint32(b[1:])
	if first = !s.opened; first && number < streamNumbers {
		s.opened, s.number = true, number
		s.from.Peer, s.from.Tag = s.comm.WorldRank(status.Source), streamFrames+int(number)
	}
	if !s.opened || number != s.number {
		return nil, false, s.malformed(status.Source, "it has the number of another stream")
	}
	if kind == frameEnd || kind == frameFailure {
		s.ended = true
		s.credit(creditDone)
	}
	s.length = len(b)
	b = b[frameHead:]
	switch {
	case err != nil: // there is no memory for the contents
		return nil, false, err
	case kind == frameValue:
		return b, first, nil
	case kind == frameEnd:
		return nil, false, nil
	case kind == frameFailure:
		return nil, false, callsite.At(&StreamError{Source: status.Source, Tag: s.tag, Text: string(b)})
	}
	return nil, false, s.malformed(status.Source, "its kind is unknown")
}

// malformed returns the error for a frame that no SendStream sends.
func (s *inflow) malformed(source int, why string) error {
	return callsite.At(fmt.Errorf("stream from rank %d with tag %d: malformed frame: %s", source, s.tag, why))
}

// took counts a value that the loop has taken. It sends a credit each time half of the window has been
// taken.
func (s *inflow) took() {
	s.taken.values++
	s.taken.bytes += uint64(s.length)
	if s.taken.values-s.told.values >= streamValues/2 || s.taken.bytes-s.told.bytes >= streamBytes/2 {
		s.credit(creditMore)
	}
}

// credit sends a credit of this kind, which reports to the sender what was taken. It does not wait until the sender
// has room for the credit, and ignores errors: a lost sender needs no credit, and the receive of its next frame fails.
func (s *inflow) credit(kind byte) {
	s.told = s.taken
	b := binary.LittleEndian.AppendUint32(append(make([]byte, 0, creditSize), kind), s.number)
	b = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(b, s.taken.values), s.taken.bytes)
	to := engine.Match{Context: s.from.Context, Peer: s.from.Peer, Tag: streamCredits + int(s.number)}
	s.comm.engine.Isend(to, valueElement.typ, b, engine.Standard)
}

// close ends the stream at this rank. If the first frame was received, but not the last one, close sends creditStopped
// to the sender and leaves the remaining frames to leftovers.
func (s *inflow) close() {
	if s.opened && !s.ended {
		s.credit(creditStopped)
		s.comm.core.leftovers.add(s.from)
	}
	encodings.Put(s.room)
}
