package runtime

import (
	"context"
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
	from   engine.Match
	number uint32
	opened bool
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
// frame arrives first. The tag cannot be AnyTag. If the loop is slower than the sender, the sender
// waits. If the stream fails, the last pair has an error. The error is a StreamError with the text
// of the sender's error, a PeerError if the sender is lost, a ValueError if a value cannot be decoded,
// a MemoryError if there is no memory for a value, or an error of c. If the program leaves the loop
// early, the sender's SendStream ends with ErrStreamStopped; the receiver does not wait for the end of
// SendStream. Values that were already sent then stay in memory until the next Stream from this source with this
// tag, or until c is closed. If source is ProcNull, there are no values.
//
//	for v, err := range runtime.Stream[Line](c, 0, 7) {
//		if err != nil {
//			return err
//		}
//		...
//	}
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
				yield(zero, s.undecoded(value.Name[T](), err))
				return
			}
			if !yield(v, nil) {
				return
			}
			if err := s.took(); err != nil {
				yield(zero, err)
				return
			}
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
	in.from.Context = c.streamContext()
	return &inflow{comm: c, from: in.from, room: encodings.Get().(*[]byte)}, nil
}

// next receives the next frame and returns the bytes of its value; the result first reports whether
// the frame is the first of the stream. At the end of the stream, next sets ended instead.
func (s *inflow) next() (b []byte, first bool, err error) {
	for {
		m, err := s.comm.engine.Mprobe(s.comm.ctx, s.from)
		if err != nil {
			return nil, false, s.comm.failed(err)
		}
		matched := s.comm.matched(m)
		b, status, err := matched.bytes(*s.room)
		if err != nil {
			return nil, false, err
		}
		if cap(b) <= encodingKept {
			*s.room = b[:0] // length 0, because SendValue appends to the slices of the pool
		}
		if len(b) < frameHead {
			return nil, false, s.malformed(status, "a frame")
		}
		kind, number := b[0]&^frameFirst, binary.LittleEndian.Uint32(b[1:])
		first = b[0]&frameFirst != 0
		if first == s.opened || s.opened && number != s.number {
			if s.opened {
				return nil, false, s.malformed(status, "two streams with one tag")
			}
			continue // a frame of an earlier stream that this rank stopped
		}
		if first {
			s.opened, s.number = true, number
			s.from.Peer = s.comm.WorldRank(status.Source)
		}
		s.length = len(b)
		b = b[frameHead:]
		switch kind {
		case frameValue:
			return b, first, nil
		case frameEnd:
			s.ended = true
			return nil, false, s.credit(creditDone)
		case frameFailure:
			s.ended = true
			err := &StreamError{Source: status.Source, Tag: status.Tag, Text: string(b)}
			return nil, false, errors.Join(callsite.At(err), s.credit(creditDone))
		}
		return nil, false, s.malformed(status, "the kind of a frame")
	}
}

// malformed returns the error for a frame that no SendStream sends.
func (s *inflow) malformed(at Status, what string) error {
	return callsite.At(fmt.Errorf("stream from rank %d with tag %d: %w: %s", at.Source, at.Tag, value.ErrMalformed, what))
}

// undecoded returns the error for a value that cannot be decoded.
func (s *inflow) undecoded(name string, cause error) error {
	source := s.comm.rankOf(s.from.Peer)
	if t, ok := errors.AsType[*value.TypeError](cause); ok {
		cause = &TypeMismatchError{Source: source, Tag: s.from.Tag, Sent: t.Sent, Want: t.Want}
	}
	return callsite.At(&ValueError{Op: "Stream", Rank: source, Tag: s.from.Tag, Type: name, Cause: cause})
}

// took counts a value that the loop has taken. It sends a credit each time half of the window has been
// taken.
func (s *inflow) took() error {
	s.taken.values++
	s.taken.bytes += uint64(s.length)
	if s.taken.values-s.told.values >= streamValues/2 || s.taken.bytes-s.told.bytes >= streamBytes/2 {
		return s.credit(creditMore)
	}
	return nil
}

// credit sends a credit of this kind, which reports to the sender what was taken.
func (s *inflow) credit(kind byte) error {
	s.told = s.taken
	b := binary.LittleEndian.AppendUint32(append(make([]byte, 0, creditSize), kind), s.number)
	b = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(b, s.taken.values), s.taken.bytes)
	to := s.from
	to.Tag |= streamCredits
	if err := s.comm.engine.Send(context.Background(), to, valueElement.typ, b, engine.Standard); err != nil {
		return s.comm.failed(err)
	}
	return nil
}

// close sends creditStopped to the sender if the loop was left early.
func (s *inflow) close() {
	if s.opened && !s.ended {
		// An error means that the sender is lost. A lost sender needs no credit.
		_ = s.credit(creditStopped)
	}
	encodings.Put(s.room)
}
