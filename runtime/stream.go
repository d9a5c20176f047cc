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

// The wire format of a stream: the sender sends frames and the receiver returns credits, both in a context of the
// engine that only streams use. Numbers are little endian.
//
//	frame   kind (8 bits), number of the stream (32 bits), contents
//	credit  kind (8 bits), number of the stream (32 bits), values and bytes taken so far (64 bits each)
//
// The sender numbers its streams. A receiver that stops leaves frames unreceived. The next Stream
// with the same source and tag discards these frames until it receives a first frame, which has
// frameFirst set. A sender that is canceled leaves credits unreceived; the next SendStream ignores
// these credits, because they have the number of another stream.
const (
	frameValue = 1 + iota
	frameEnd
	frameFailure
	// frameFirst is added to the kind of the first frame.
	frameFirst = 0x80

	creditMore    = 1 // the receiver has taken values
	creditDone    = 2 // the receiver has taken the last frame
	creditStopped = 3 // the receiver takes no more frames

	frameHead  = 5
	creditSize = 21
	// streamCredits is added to the tag of credits, because streams in both directions may have the same tag.
	streamCredits = TagMax + 1
)

// The window of a stream: bounds of the values and the bytes that are sent but not reported as taken by
// a credit. While fewer than streamBytes/2 bytes are unreported, the sender may send a value of any length.
const (
	streamValues = 128
	streamBytes  = 256 << 10
)

// ErrStreamStopped is the error of SendStream when the receiver has left the stream before its end.
var ErrStreamStopped = errors.New("the receiver stopped the stream")

// StreamError ends a Stream whose sender has failed: the sequence of values ended with an error, or
// not all values could be sent.
type StreamError struct {
	// Source is the sender's rank in the communicator, Tag the tag of the stream.
	Source, Tag int
	// Text is the text of the sender's error.
	Text string
}

// Error implements error.
func (e *StreamError) Error() string {
	return fmt.Sprintf("stream from rank %d with tag %d: the sender failed: %s", e.Source, e.Tag, e.Text)
}

// streamContext returns the engine's context of the streams in c.
func (c *Comm) streamContext() uint32 { return c.id + contextStream }

// outflow is the sending end of a stream.
type outflow struct {
	comm   *Comm
	to     engine.Match
	tag    int
	number uint32
	opened bool
	// credit is the receive of the next credit into room. It is under way while state is creditMore.
	credit Request
	room   [creditSize]byte
	// sent counts the values and bytes that were sent. taken counts the values and bytes that the
	// receiver has taken.
	sent, taken flow
	// state is the kind of the last credit, at first creditMore.
	state byte
	frame []byte // memory for frames, reused
}

// flow counts values and the bytes of their frames.
type flow struct{ values, bytes uint64 }

// SendStream sends the values of a sequence to dest in order, each in its own message; dest
// receives them by Stream. It sends at most 128 values and 256 KiB ahead of the receiver, or 128 KiB
// and one longer value, and then waits until the receiver has taken some values. It returns nil when
// the receiver has taken all values. If seq yields an error, or a value cannot be encoded, SendStream
// returns the error. The receiver gets the values that precede the error, and then a StreamError.
// SendStream returns ErrStreamStopped if the receiver stops the stream, and a PeerError if the
// receiver is lost; in both cases SendStream leaves the loop over seq at the next value. At any
// time, at most one stream with the same tag may go from one rank to another. Streams do not match
// other messages. If dest is ProcNull, SendStream sends nothing and does not call seq.
func SendStream[T any](c *Comm, seq iter.Seq2[T, error], dest, tag int) error {
	if seq == nil {
		return callsite.At(fmt.Errorf("%w: no sequence", ErrArgument))
	}
	if null, err := c.checkValue(dest, tag); null || err != nil {
		return err
	}
	s := c.newOutflow(dest, tag)
	defer s.close()
	for v, err := range seq {
		if err != nil {
			return s.fail(err)
		}
		b := s.begin(frameValue)
		if s.opened {
			b, err = value.AppendRest(b, &v)
		} else {
			b, err = value.Append(b, &v)
		}
		if err != nil {
			return s.fail(unsent[T]("SendStream", dest, tag, err))
		}
		if err := s.send(b); err != nil {
			return err
		}
	}
	return s.finish(s.begin(frameEnd))
}

// newOutflow returns the sending end of a new stream.
func (c *Comm) newOutflow(dest, tag int) *outflow {
	s := &outflow{comm: c, tag: tag, number: c.core.world.streams.Add(1), state: creditMore}
	s.to = engine.Match{Context: c.streamContext(), Peer: c.WorldRank(dest), Tag: tag}
	s.await()
	return s
}

// await starts to receive the next credit.
func (s *outflow) await() {
	from := s.to
	from.Tag |= streamCredits
	s.credit = s.comm.receiving(valueElement, s.comm.engine.Irecv(from, valueElement.typ, s.room[:]))
}

// close cancels the receive of a credit if it is under way.
func (s *outflow) close() {
	if s.state == creditMore {
		s.credit.Cancel()
		_, _ = s.credit.Wait()
	}
}

// begin returns the header of a frame, to which the caller appends the contents.
func (s *outflow) begin(kind byte) []byte {
	if !s.opened {
		kind |= frameFirst
	}
	return binary.LittleEndian.AppendUint32(append(s.frame[:0], kind), s.number)
}

// send waits until the window has room for a frame, and sends the frame.
func (s *outflow) send(b []byte) error {
	s.frame = b
	if cap(b) > encodingKept {
		s.frame = nil
	}
	if s.credit.Done() { // a stop or a loss ends the stream even if the window is not full
		if _, err := s.credit.Wait(); err != nil {
			return s.lost(err)
		}
		if err := s.credited(); err != nil {
			return err
		}
	}
	for s.full(len(b)) {
		if _, err := s.credit.Wait(); err != nil {
			return s.lost(err)
		}
		if err := s.credited(); err != nil {
			return err
		}
	}
	if b[0]&^frameFirst == frameValue {
		s.sent.values++
	}
	s.sent.bytes += uint64(len(b))
	return s.transmit(b)
}

// full reports whether a frame of n bytes has to wait for credit. A receiver that has taken all frames
// may not have reported the last of them, because it sends a credit for each half of the window. So a
// frame must not wait unless half of the window is in use.
func (s *outflow) full(n int) bool {
	waiting := flow{s.sent.values - s.taken.values, s.sent.bytes - s.taken.bytes}
	return waiting.values >= streamValues || waiting.bytes >= streamBytes/2 && waiting.bytes+uint64(n) > streamBytes
}

// transmit sends a frame. The send of a long frame completes when the receiver takes the frame. If the
// receiver stops the stream or is lost before that, transmit cancels the send.
func (s *outflow) transmit(b []byte) error {
	send := Request{comm: s.comm, operation: s.comm.engine.Isend(s.to, valueElement.typ, b, engine.Standard)}
	send.operation.Unit = sendUnit
	for !send.operation.Zero() {
		both := [2]Request{send, s.credit}
		i, _, err := WaitAny(both[:])
		switch {
		case i == 0 && err == nil:
			s.opened = true
			return nil
		case i == 0:
			return s.lost(err)
		case err == nil:
			if err = s.credited(); err == nil {
				continue
			}
		}
		send.Cancel()
		if _, canceled := send.Wait(); canceled == nil {
			s.opened = true
		}
		if s.state == creditStopped {
			return err
		}
		return s.lost(err)
	}
	s.opened = true
	return nil
}

// credited parses the credit that was received, and posts the receive of the next credit if the
// parsed credit is not the last one.
func (s *outflow) credited() error {
	kind, number := s.room[0], binary.LittleEndian.Uint32(s.room[1:])
	if number != s.number { // a credit of an earlier stream that this rank canceled
		s.await()
		return nil
	}
	taken := flow{binary.LittleEndian.Uint64(s.room[5:]), binary.LittleEndian.Uint64(s.room[13:])}
	if taken.values > s.sent.values || taken.bytes > s.sent.bytes || kind < creditMore || kind > creditStopped {
		return s.lost(fmt.Errorf("%w: a credit of the stream to rank %d", value.ErrMalformed, s.comm.rankOf(s.to.Peer)))
	}
	s.taken, s.state = taken, kind
	if kind == creditStopped {
		return callsite.At(fmt.Errorf("stream to rank %d with tag %d: %w after %d values", s.comm.rankOf(s.to.Peer), s.tag, ErrStreamStopped, taken.values))
	}
	if kind == creditMore {
		s.await()
	}
	return nil
}

// finish sends the last frame and waits until the receiver has taken it.
func (s *outflow) finish(b []byte) error {
	if err := s.send(b); err != nil {
		return err
	}
	for s.state == creditMore {
		if _, err := s.credit.Wait(); err != nil {
			return s.lost(err)
		}
		if err := s.credited(); err != nil {
			return err
		}
	}
	return nil
}

// fail ends the stream because of cause: it sends the failure to the receiver, waits until the receiver has
// taken it, and returns cause.
func (s *outflow) fail(cause error) error {
	if err := s.finish(append(s.begin(frameFailure), cause.Error()...)); err != nil && !errors.Is(err, ErrStreamStopped) {
		return errors.Join(cause, err)
	}
	return cause
}

// lost ends a stream that this rank cannot continue. It sends the failure to the receiver without waiting for
// credit or for the end of the send, and returns cause.
func (s *outflow) lost(cause error) error {
	b := append(s.begin(frameFailure), cause.Error()...)
	if len(b) > streamFailureMax {
		b = b[:streamFailureMax]
	}
	s.comm.engine.Isend(s.to, valueElement.typ, b, engine.Standard)
	return cause
}

// streamFailureMax bounds the bytes of the frame of a failure that is sent without credit.
const streamFailureMax = 1 << 10
