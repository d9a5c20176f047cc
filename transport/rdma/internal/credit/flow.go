package credit

import (
	"errors"
	"math/bits"
)

const (
	// UpdateReserve is the number of receives that are reserved for updates. Because of these
	// receives an update needs no credit.
	UpdateReserve = 2
	// GoodbyeReserve is the number of receives reserved for BYE and BYE-ACK (connection end).
	GoodbyeReserve = 2
	// Reserve is the number of receives that are posted in addition to the granted ones.
	Reserve = UpdateReserve + GoodbyeReserve
	// WindowMax bounds the receives granted to a peer, and the slots of a sender.
	WindowMax = 4096
)

// ErrViolation reports that a peer has violated the protocol. The caller has to end the connection.
// The connections to other peers are not affected.
var ErrViolation = errors.New("flow control violated")

// Verdict tells the caller what to do with an eager frame that has arrived.
type Verdict uint8

// The verdicts. With either verdict the frame has used up a receive.
const (
	// Deliver: the frame is new and the next in order. The caller delivers it.
	Deliver Verdict = iota + 1
	// Duplicate: the frame was delivered on an earlier connection. The caller drops it.
	Duplicate
)

// Flow controls the small frames between this rank and one peer, in both directions and across
// successive connections. It is not safe for concurrent use.
//
// Without a connection no frame can be sent, but slots can be taken.
type Flow struct {
	out sender
	in  receiver
	up  bool
}

// New returns the flow to a peer. slots is the number of frames that may be unacknowledged. It must
// be a power of two up to WindowMax. Otherwise New panics.
func New(slots int) *Flow {
	if slots < 1 || slots > WindowMax || bits.OnesCount(uint(slots)) != 1 {
		panic("credit: the number of slots must be a power of two up to 4096")
	}
	return &Flow{out: sender{slots: uint16(slots)}}
}

// Connect starts a connection. The two sides have exchanged records (package negotiation) with their
// initial numbers. granted is the number of credits that this side grants in its record. The caller
// has posted granted+Reserve receives. credits is the number of credits that the peer grants in its
// record, and peerSlots is the number of slots of the peer's Flow. From now on an Update is due, until
// the first call of Update. Next returns the words of the unacknowledged frames once more.
func (f *Flow) Connect(granted, credits, peerSlots int) {
	f.out.connect(uint16(clamp(credits)))
	f.in.connect(uint16(clamp(granted)), uint16(clamp(peerSlots)))
	f.up = true
}

func clamp(n int) int { return min(max(n, 0), WindowMax) }

// Disconnect ends the connection.
func (f *Flow) Disconnect() { f.up = false }

// Ready reports whether a frame that gets its slot by Take now could also be sent now.
func (f *Flow) Ready() bool {
	s := &f.out
	return f.up && s.cursor == s.next && s.frames != s.limit && s.next-s.acked != s.slots
}

// Take assigns a sequence number and a slot to a new frame. The slot is the sequence number modulo
// the number of slots. Take returns false if every slot is occupied. The frame occupies the slot
// until Accept, Arrive, ArriveUpdate or ArriveGoodbye counts the slot in its result freed. Next
// returns the word with which the caller sends the frame.
func (f *Flow) Take() (sequence uint16, ok bool) { return f.out.take() }

// Position returns the sequence number that the next call of Take will assign, and the sequence
// number that the next frame of the peer has to have. While no frame is in flight, the peer's
// Position returns the same two numbers in the opposite order.
func (f *Flow) Position() (sent, received uint16) { return f.out.next, f.in.expected }

// Slot returns the slot of a sequence number.
func (f *Flow) Slot(sequence uint16) int { return int(sequence & (f.out.slots - 1)) }

// Next returns the word of the oldest eager frame that has not been sent on the current connection.
// It returns false if all frames have been sent, if this side has no credit, or if there is no
// connection. Next counts the frame as sent, so the caller has to send it.
//
// Next also returns false for a frame that was sent on an earlier connection, until the first frame of the peer has
// arrived on this connection. The word of this first frame acknowledges the frames that the peer has received on
// earlier connections. If the caller sent such a frame before, the acknowledgement could free the frame's slot, and the
// caller could reuse the frame's memory, while the adapter still has to send the frame.
func (f *Flow) Next() (Word, bool) {
	if !f.up || f.out.cursor != f.out.sent && f.in.arrived == 0 && f.in.came == 0 {
		return 0, false
	}
	sequence, ok := f.out.put()
	if !ok {
		return 0, false
	}
	return f.stamp(sequence), true
}

// Send combines Take and Next for a flow that is Ready: it returns the word of a new frame. The
// frame's slot is the Slot of the word's Sequence.
func (f *Flow) Send() Word {
	s := &f.out
	sequence := s.next
	s.next++
	s.cursor++
	s.sent = s.next
	s.frames++
	return f.stamp(sequence)
}

// stamp makes the word of a frame that is about to be sent.
func (f *Flow) stamp(sequence uint16) Word {
	f.in.saidAck, f.in.said = f.in.expected, f.in.limit()
	f.in.told = f.in.came
	return word(sequence, f.in.saidAck, f.in.said, f.in.came)
}

// Due reports whether the caller should call Update now. An update is due if there is enough credit
// to return or enough frames to acknowledge. The peer may be unable to send an acknowledgement
// before this side confirms the peer's updates. So an update is also due if this side waits for
// such an acknowledgement. If Due returns true, the peer has a free reserved receive for the
// update.
func (f *Flow) Due() bool {
	return f.up && (f.in.due() || f.out.cursor != f.out.acked && f.in.mute())
}

// Owed reports whether frames of the peer are unacknowledged and an Update may be sent now to
// acknowledge them. If Owed returns true, the caller should send the Update before it goes idle.
func (f *Flow) Owed() bool {
	return f.up && f.in.owed()
}

// Update returns the word of an update, which the caller has to send. It may be called when Due or
// Owed returns true.
func (f *Flow) Update() Word {
	f.in.update()
	return f.stamp(0)
}

// Goodbye returns the word of a BYE or a BYE-ACK, which the caller has to send.
func (f *Flow) Goodbye() Word { return f.stamp(0) }

// Accept is a faster form of Arrive for frames with the verdict Deliver, which is the verdict of
// nearly all frames. For every other frame Accept does nothing and returns false. The caller then
// calls Arrive.
func (f *Flow) Accept(w Word) (freed int, ok bool) {
	r, s := &f.in, &f.out
	if w.Sequence() != r.expected || r.arrived == r.said || w.confirmed()-r.confirmed > r.updates-r.confirmed || !s.sound(w) {
		return 0, false
	}
	r.arrived++
	r.expected++
	r.confirmed = w.confirmed()
	freed = int(w.ack() - s.acked)
	s.note(w)
	return freed, true
}

// Arrive processes the word of an eager frame that has arrived. freed is the number of slots that
// the word has freed. The oldest frames occupied these slots. After an error the caller has to end
// the connection.
func (f *Flow) Arrive(w Word) (v Verdict, freed int, err error) {
	if v, err = f.in.arrive(w.Sequence()); err != nil {
		return 0, 0, err
	}
	freed, err = f.acknowledge(w)
	return v, freed, err
}

// ArriveUpdate processes the word of an update. The caller has to post the receive of the update
// again before it sends anything.
func (f *Flow) ArriveUpdate(w Word) (freed int, err error) {
	f.in.came++
	return f.acknowledge(w)
}

// ArriveGoodbye processes the word of a BYE or a BYE-ACK.
func (f *Flow) ArriveGoodbye(w Word) (freed int, err error) { return f.acknowledge(w) }

func (f *Flow) acknowledge(w Word) (int, error) {
	if err := f.in.confirm(w); err != nil {
		return 0, err
	}
	return f.out.confirm(w)
}

// Return records that the receives of n eager frames were posted again.
func (f *Flow) Return(n int) { f.in.returned += uint16(n) }

// Widen records that n more receives were posted, and grants them to the peer.
func (f *Flow) Widen(n int) { f.in.window = uint16(clamp(int(f.in.window) + n)) }

// Starved reports whether the peer has at most a quarter of its window left. Starved counts only
// the grants that were sent to the peer. If Starved returns true, the caller should post more
// receives and call Widen.
func (f *Flow) Starved() bool { return f.in.said-f.in.arrived <= f.in.window/4 }

// Window returns the number of receives granted to the peer, without Reserve.
func (f *Flow) Window() int { return int(f.in.window) }

// Credits returns the number of further eager frames for which the peer has granted credit.
func (f *Flow) Credits() int {
	if !f.up {
		return 0
	}
	return int(f.out.credits())
}

// Unacknowledged returns the number of occupied slots.
func (f *Flow) Unacknowledged() int { return int(f.out.next - f.out.acked) }

// Queued returns the number of frames that have a slot and have not been sent on the current
// connection.
func (f *Flow) Queued() int {
	if !f.up {
		return f.Unacknowledged()
	}
	return int(f.out.next - f.out.cursor)
}
