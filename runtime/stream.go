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
// The sender numbers its streams. Only the first frame of a stream has the tag of the stream. The tags of the other
// frames and of the credits contain the number. So a Stream that waits for a first frame never receives a later frame
// of another stream. Therefore several streams from one rank to another may have the same tag at the same time.
//
// Each stream has one last frame, and each stream whose first frame was received has one last credit. A rank that
// leaves a stream early still has to receive the frames or credits up to the last one, see leftovers.
const (
	frameValue   = 1 + iota
	frameEnd     // a last frame: the sequence has ended
	frameFailure // a last frame: the sender has failed; the contents are the text of its error

	creditMore    = frameValue // the receiver has taken values; discardFrom tests frames and credits for this number
	creditDone    = 2          // the last credit: the receiver has taken the last frame
	creditStopped = 3          // the last credit: the receiver takes no more frames

	frameHead  = 5
	creditSize = 21

	// streamFrames plus the number of a stream is the tag of its frames after the first. streamCredits plus the number
	// is the tag of its credits. Numbers are below streamNumbers.
	streamFrames  = TagMax + 1
	streamCredits = streamFrames + streamNumbers
	streamNumbers = 1 << 29
)

// The window of a stream bounds the values and the bytes that are sent and unreported. A value is unreported until a
// credit has reported that the receiver has taken it. While fewer than streamBytes/2 bytes are unreported, the sender
// may send a value of any length.
const (
	streamValues = 128
	streamBytes  = 256 << 10
)

// ErrStreamStopped is the error of SendStream if the receiver has left the stream before its end.
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

// errStreamLeft is the failure of a stream whose sequence has ended by a panic or by runtime.Goexit.
var errStreamLeft = errors.New("the sequence did not return")

// outflow is the sending end of a stream.
type outflow struct {
	comm   *Comm
	to     engine.Match // of the first frame
	number uint32
	opened bool // the first frame was sent
	// last is true once the method transmit has begun to send a last frame. over is true once a last frame was sent, or
	// once the method lost has started to send one.
	last, over bool
	// credit is the receive of the next credit into room. It is under way while state is creditMore.
	credit Request
	room   [creditSize]byte
	// sent counts the values and bytes that were sent. taken counts the values and bytes that the receiver
	// has taken according to the newest credit.
	sent, taken flow
	// state is the kind of the newest credit, at first creditMore.
	state byte
	frame []byte // memory for frames, reused
}

// flow counts values and the bytes of their frames.
type flow struct{ values, bytes uint64 }

// SendStream sends the values of a sequence to dest in order, each in its own message; dest
// receives them by Stream. SendStream gets ahead of the receiver by at most 128 values and 256 KiB. While it is
// ahead by less than 128 KiB, it may send a value of any length. At these limits it waits until the receiver has
// taken some values. It returns nil when the receiver has taken all values. If seq yields an error, or a
// value cannot be encoded, SendStream returns the error. The receiver gets the values that precede the
// error, and then a StreamError. A panic of seq passes through SendStream, and the receiver gets a
// StreamError, too. SendStream returns ErrStreamStopped if the receiver stops the stream, and a
// PeerError if the receiver is lost; in both cases SendStream leaves the loop over seq at the next
// value. Several streams with the same tag may go from one rank to another at the same time. They are
// received in the order in which their first values were sent. Only a Stream receives their messages. If
// dest is ProcNull, SendStream sends nothing and does not call seq.
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
			return s.fail(valueError[T]("SendStream", dest, tag, err))
		}
		if err := s.send(b); err != nil {
			return err
		}
	}
	return s.finish(s.begin(frameEnd))
}

// newOutflow returns the sending end of a new stream.
func (c *Comm) newOutflow(dest, tag int) *outflow {
	c.core.leftovers.discard(c.engine)
	s := &outflow{comm: c, number: c.core.world.streams.Add(1) % streamNumbers, state: creditMore}
	s.to = engine.Match{Context: c.streamContext(), Peer: c.WorldRank(dest), Tag: tag}
	s.await()
	return s
}

// credits returns the address of the credits.
func (s *outflow) credits() engine.Match {
	return engine.Match{Context: s.to.Context, Peer: s.to.Peer, Tag: streamCredits + int(s.number)}
}

// await starts to receive the next credit.
func (s *outflow) await() {
	s.credit = s.comm.receiving(valueElement, s.comm.engine.Irecv(s.credits(), valueElement.typ, s.room[:]))
}

// close ends the stream at this rank. If no last frame was sent, it sends one. If the last credit was not received,
// it leaves the credits to leftovers.
func (s *outflow) close() {
	_ = s.lost(errStreamLeft)
	if s.state != creditMore {
		return
	}
	s.credit.Cancel()
	// If the wait for the credit has ended with an error before, status is empty.
	if status, err := s.credit.Wait(); err != nil || status.Bytes == 0 || s.room[0] == creditMore {
		s.comm.core.leftovers.add(s.credits())
	}
}

// begin returns the header of a frame, to which the caller appends the contents.
func (s *outflow) begin(kind byte) []byte {
	return binary.LittleEndian.AppendUint32(append(s.frame[:0], kind), s.number)
}

// send waits until the window has room for a frame, and sends the frame.
func (s *outflow) send(b []byte) error {
	s.frame = b
	if cap(b) > encodingKept {
		s.frame = nil
	}
	// A stop or a loss ends the stream even if the window is not full.
	for ended := s.credit.Done(); ended || s.full(len(b)); ended = false {
		if err := s.take(); err != nil {
			return err
		}
	}
	if b[0] == frameValue {
		s.sent.values++
	}
	s.sent.bytes += uint64(len(b))
	return s.transmit(b)
}

// take waits for the next credit.
func (s *outflow) take() error {
	status, err := s.credit.Wait()
	if err == nil {
		err = s.credited(status.Bytes)
	}
	if err == nil || s.state == creditStopped {
		return err
	}
	return s.lost(err)
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
	s.last = b[0] != frameValue
	send := s.start(b)
	send.operation.Unit = sendUnit
	for !send.operation.Zero() {
		both := [2]Request{send, s.credit}
		i, status, err := WaitAny(both[:])
		switch {
		case i == 0 && err == nil:
			s.transmitted()
			return nil
		case i == 0:
			return s.lost(err)
		case err == nil:
			if err = s.credited(status.Bytes); err == nil {
				continue
			}
		}
		send.Cancel()
		if _, canceled := send.Wait(); canceled == nil {
			s.transmitted()
		}
		if s.state == creditStopped {
			return err
		}
		return s.lost(err)
	}
	s.transmitted()
	return nil
}

// start starts the send of a frame.
func (s *outflow) start(b []byte) Request {
	to := s.to
	if s.opened {
		to.Tag = streamFrames + int(s.number)
	}
	return Request{comm: s.comm, operation: s.comm.engine.Isend(to, valueElement.typ, b, engine.Standard)}
}

// transmitted records that a frame was sent.
func (s *outflow) transmitted() { s.opened, s.over = true, s.last }

// credited parses the credit of n bytes that was received, and posts the receive of the next credit if the
// parsed credit is not the last one.
func (s *outflow) credited(n int) error {
	kind, number := s.room[0], binary.LittleEndian.Uint32(s.room[1:])
	taken := flow{binary.LittleEndian.Uint64(s.room[5:]), binary.LittleEndian.Uint64(s.room[13:])}
	dest := s.comm.rankOf(s.to.Peer)
	if n != creditSize || number != s.number || kind < creditMore || kind > creditStopped || kind == creditDone && !s.last ||
		taken.values > s.sent.values || taken.bytes > s.sent.bytes {
		return callsite.At(fmt.Errorf("stream to rank %d with tag %d: malformed credit", dest, s.to.Tag))
	}
	s.taken, s.state = taken, kind
	if kind == creditStopped {
		return callsite.At(fmt.Errorf("stream to rank %d with tag %d: %w after %d values", dest, s.to.Tag, ErrStreamStopped, taken.values))
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
		if err := s.take(); err != nil {
			return err
		}
	}
	return nil
}

// fail ends the stream because of cause: it sends the failure to the receiver, waits until the receiver has
// taken it or has stopped the stream, and returns cause. After any other error of this wait, it returns both errors.
func (s *outflow) fail(cause error) error {
	if err := s.finish(append(s.begin(frameFailure), cause.Error()...)); err != nil && !errors.Is(err, ErrStreamStopped) {
		return errors.Join(cause, err)
	}
	return cause
}

// lost ends a stream that this rank cannot continue, and returns cause. If no last frame was sent, lost sends the
// failure to the receiver, without waiting for credit or for the end of the send.
func (s *outflow) lost(cause error) error {
	if s.over {
		return cause
	}
	b := append(s.begin(frameFailure), cause.Error()...)
	if len(b) > streamFailureMax {
		b = b[:streamFailureMax]
	}
	s.start(b)
	s.over = true
	return cause
}

// streamFailureMax bounds the bytes of the frame of a failure that is sent without credit.
const streamFailureMax = 1 << 10
