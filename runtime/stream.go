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

// A stream is frames to the receiver and credits back, in a context of the engine of their own.
//
//	frame   kind, number of the stream (32 bits, little endian), contents
//	credit  kind, number of the stream, values and bytes taken so far (64 bits each)
//
// The number is the sender's. A receiver that stops leaves frames behind, which the next one with the
// same source and tag drops: a stream begins with a frame that says so. A sender that is canceled leaves
// credits behind, which have an older number.
const (
	frameValue = 1 + iota
	frameEnd
	frameFailure
	// frameFirst is added to the kind of the first frame.
	frameFirst = 0x80

	creditMore    = 1 // the receiver has taken values
	creditDone    = 2 // it has taken the end
	creditStopped = 3 // it takes no more

	frameHead  = 5
	creditSize = 21
	// streamCredits is added to the tag of credits: streams in both directions may have one tag.
	streamCredits = TagMax + 1
)

// Bounds of what a sender sends before the receiver has taken it. One value may be longer.
const (
	streamValues = 128
	streamBytes  = 256 << 10
)

// ErrStreamStopped ends SendStream when the receiver has left the stream before its end.
var ErrStreamStopped = errors.New("the receiver stopped the stream")

// StreamError ends a Stream whose sender has failed: its values ended with an error, or were not
// all sent.
type StreamError struct {
	// Source is the sender's rank in the communicator, Tag the tag of the stream.
	Source, Tag int
	// Text is that of the sender's error.
	Text string
}

// Error implements error.
func (e *StreamError) Error() string {
	return fmt.Sprintf("stream from rank %d with tag %d: the sender failed: %s", e.Source, e.Tag, e.Text)
}

// streamContext is the context of the engine of streams in c.
func (c *Comm) streamContext() uint32 { return c.id + contextStream }

// outflow is the sending end of a stream.
type outflow struct {
	comm   *Comm
	to     engine.Match
	tag    int
	number uint32
	opened bool
	// credit is the receive of the next credit, always under way, with its memory.
	credit Request
	room   [creditSize]byte
	// sent is what was sent, taken what the receiver has taken of it.
	sent, taken flow
	// state is the kind of the last credit.
	state byte
	frame []byte
}

// flow counts values and the bytes of their frames.
type flow struct{ values, bytes uint64 }

// SendStream sends the values of a sequence to dest, which receives them by Stream, in order, each in
// a message of its own. Not more than 128 values or 256 KiB, or one longer value, are sent before the
// receiver takes them; then it waits. It returns nil when the receiver has taken all values. If seq
// yields an error, or a value cannot be encoded, the receiver gets the values before it and a
// StreamError, and the error is returned. It returns ErrStreamStopped if the receiver stops, and a
// PeerError if it is lost; the loop of seq is left then, at the next value. At one time there is one
// stream from a rank to another one with a tag. Streams do not match other messages. To ProcNull
// nothing is sent, and seq is not called.
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

// newOutflow begins a stream.
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
	s.credit = s.comm.receiving(valueElement, s.comm.engine.Irecv(from, valueElement.typ, s.room[:], 0))
}

// close ends the receive of a credit.
func (s *outflow) close() {
	if s.state == creditMore {
		s.credit.Cancel()
		_, _ = s.credit.Wait()
	}
}

// begin begins a frame.
func (s *outflow) begin(kind byte) []byte {
	if !s.opened {
		kind |= frameFirst
	}
	return binary.LittleEndian.AppendUint32(append(s.frame[:0], kind), s.number)
}

// send sends a frame when there is room for it.
func (s *outflow) send(b []byte) error {
	s.frame = b
	if cap(b) > encodingKept {
		s.frame = nil
	}
	if s.credit.Done() { // what stops the stream is seen at once, not when the room is used up
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

// full reports whether a frame of n bytes has to wait.
func (s *outflow) full(n int) bool {
	waiting := flow{s.sent.values - s.taken.values, s.sent.bytes - s.taken.bytes}
	return waiting.values >= streamValues || waiting.bytes > 0 && waiting.bytes+uint64(n) > streamBytes
}

// transmit sends a frame. A long one is sent when the receiver takes it, unless it stops.
func (s *outflow) transmit(b []byte) error {
	send := Request{comm: s.comm, operation: s.comm.engine.Isend(s.to, valueElement.typ, b, engine.Standard, 0)}
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

// credited reads the credit that was received, and awaits the next one.
func (s *outflow) credited() error {
	kind, number := s.room[0], binary.LittleEndian.Uint32(s.room[1:])
	if number != s.number { // of a stream that was canceled here
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

// fail tells the receiver that there are no more values, and returns why.
func (s *outflow) fail(cause error) error {
	if err := s.finish(append(s.begin(frameFailure), cause.Error()...)); err != nil && !errors.Is(err, ErrStreamStopped) {
		return errors.Join(cause, err)
	}
	return cause
}

// lost ends a stream that cannot go on here. The receiver gets to know it if it can.
func (s *outflow) lost(cause error) error {
	b := append(s.begin(frameFailure), cause.Error()...)
	if len(b) > streamFailureMax {
		b = b[:streamFailureMax]
	}
	s.comm.engine.Isend(s.to, valueElement.typ, b, engine.Standard, 0)
	return cause
}

// streamFailureMax bounds the text of a failure that is sent without credit.
const streamFailureMax = 1 << 10
