package credit

import (
	"errors"
	"math/bits"
)

const (
	// UpdateReserve is the number of receives reserved for updates, so that an update,
	// which returns credit, needs none.
	UpdateReserve = 2
	// GoodbyeReserve is the number of receives kept for BYE and BYE-ACK.
	GoodbyeReserve = 2
	// Reserve is the number of receives posted besides those granted.
	Reserve = UpdateReserve + GoodbyeReserve
	// WindowMax bounds the receives granted to a peer, and the slots of a sender.
	WindowMax = 4096
)

// ErrViolation says that a peer sent what no correct peer sends. The connection
// is to be ended; nothing else is harmed.
var ErrViolation = errors.New("flow control violated")

// Verdict says what to do with an eager frame that came.
type Verdict uint8

// The verdicts. Both kinds of frame have used up a receive.
const (
	// Deliver: it is new and the next in order.
	Deliver Verdict = iota + 1
	// Duplicate: it was delivered on an earlier connection. Drop it.
	Duplicate
)

// Flow controls the small frames between this rank and one peer, in both directions, over
// all connections. It is not safe for concurrent use.
//
// Without a connection nothing is sent, but slots can be taken.
type Flow struct {
	out sender
	in  receiver
	up  bool
}

// New returns the flow to a peer with so many slots for frames that are not
// acknowledged, a power of two up to WindowMax. It panics otherwise.
func New(slots int) *Flow {
	if slots < 1 || slots > WindowMax || bits.OnesCount(uint(slots)) != 1 {
		panic("credit: the number of slots is a power of two up to 4096")
	}
	return &Flow{out: sender{slots: uint16(slots)}}
}

// Connect starts a connection. granted is what this side's record grants the
// peer, for which granted+Reserve receives are posted; credits is what the
// peer's grants, and peerSlots the number of slots of the peer's Flow. An Update
// is due at once, which is the first message of the connection. Frames that
// are not acknowledged will be sent again.
func (f *Flow) Connect(granted, credits, peerSlots int) {
	f.out.connect(uint16(clamp(credits)))
	f.in.connect(uint16(clamp(granted)), uint16(clamp(peerSlots)))
	f.up = true
}

func clamp(n int) int { return min(max(n, 0), WindowMax) }

// Disconnect ends the connection.
func (f *Flow) Disconnect() { f.up = false }

// Ready reports whether a frame taken now could be sent at once.
func (f *Flow) Ready() bool {
	s := &f.out
	return f.up && s.cursor == s.next && s.frames != s.limit && s.next-s.acked != s.slots
}

// Take gives a new frame a slot: its sequence number modulo the number of slots.
// It returns false when every slot is occupied. The slot is the frame's until
// freed counts it. Next sends it.
func (f *Flow) Take() (sequence uint16, ok bool) { return f.out.take() }

// Position returns the sequence number of the next frame to take, and that of the next frame
// to come: equal to the peer's, exchanged, when none is under way.
func (f *Flow) Position() (sent, received uint16) { return f.out.next, f.in.expected }

// Slot returns the slot of a sequence number.
func (f *Flow) Slot(sequence uint16) int { return int(sequence & (f.out.slots - 1)) }

// Next returns the word of the next eager frame to send, old ones first, and
// false when there is none or no credit. The caller sends it: it is counted.
func (f *Flow) Next() (Word, bool) {
	if !f.up {
		return 0, false
	}
	sequence, ok := f.out.put()
	if !ok {
		return 0, false
	}
	return f.stamp(sequence), true
}

// Send is Take and Next at once, for a flow that is Ready: it returns the word of a new
// frame, whose slot is that of its sequence number.
func (f *Flow) Send() Word {
	s := &f.out
	sequence := s.next
	s.next++
	s.cursor++
	s.frames++
	return f.stamp(sequence)
}

// stamp makes the word of a frame that is about to be sent.
func (f *Flow) stamp(sequence uint16) Word {
	f.in.saidAck, f.in.said = f.in.expected, f.in.limit()
	f.in.told = f.in.came
	return word(sequence, f.in.saidAck, f.in.said, f.in.came)
}

// Due reports whether Update should be called: there is enough to report, or the peer may
// need a credit before it can acknowledge frames; a receive is reserved for the message at
// the peer.
func (f *Flow) Due() bool {
	return f.up && (f.in.due() || f.out.cursor != f.out.acked && f.in.mute())
}

// Owed reports whether the peer lacks an acknowledgement that an Update could
// give now. Before going idle it should be given.
func (f *Flow) Owed() bool {
	return f.up && f.in.owed()
}

// Update returns the word of an update, which the caller sends. It may be called
// when Due or Owed.
func (f *Flow) Update() Word {
	f.in.update()
	return f.stamp(0)
}

// Goodbye returns the word of a BYE or a BYE-ACK, which the caller sends.
func (f *Flow) Goodbye() Word { return f.stamp(0) }

// Accept is Arrive of a frame that is to be delivered, as nearly all are. For every other
// frame it does nothing and returns false; Arrive then returns the verdict.
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

// Arrive takes the word of an eager frame that came. freed slots are free now,
// the oldest ones. After an error the connection is to be ended.
func (f *Flow) Arrive(w Word) (v Verdict, freed int, err error) {
	if v, err = f.in.arrive(w.Sequence()); err != nil {
		return 0, 0, err
	}
	freed, err = f.acknowledge(w)
	return v, freed, err
}

// ArriveUpdate takes the word of an update, whose receive is posted again before
// anything is sent.
func (f *Flow) ArriveUpdate(w Word) (freed int, err error) {
	f.in.came++
	return f.acknowledge(w)
}

// ArriveGoodbye takes the word of a BYE or a BYE-ACK.
func (f *Flow) ArriveGoodbye(w Word) (freed int, err error) { return f.acknowledge(w) }

func (f *Flow) acknowledge(w Word) (int, error) {
	if err := f.in.confirm(w); err != nil {
		return 0, err
	}
	return f.out.confirm(w)
}

// Return says that the receives of n eager frames were posted again.
func (f *Flow) Return(n int) { f.in.returned += uint16(n) }

// Widen says that n more receives were posted, and grants them.
func (f *Flow) Widen(n int) { f.in.window = uint16(clamp(int(f.in.window) + n)) }

// Starved reports whether less than a quarter of the window granted to the peer is left,
// counting only grants that were sent. Then Widen should follow.
func (f *Flow) Starved() bool { return f.in.said-f.in.arrived <= f.in.window/4 }

// Window is the number of receives granted to the peer, without Reserve.
func (f *Flow) Window() int { return int(f.in.window) }

// Credits is the number of frames that the peer has room for now.
func (f *Flow) Credits() int {
	if !f.up {
		return 0
	}
	return int(f.out.credits())
}

// Unacknowledged is the number of occupied slots.
func (f *Flow) Unacknowledged() int { return int(f.out.next - f.out.acked) }

// Queued is the number of frames that have a slot but are not on the connection.
func (f *Flow) Queued() int {
	if !f.up {
		return f.Unacknowledged()
	}
	return int(f.out.next - f.out.cursor)
}
