package credit

import "fmt"

// receiver is the side of a Flow that receives eager frames.
type receiver struct {
	expected uint16 // sequence number of the next frame to deliver
	saidAck  uint16 // expected as last said to the peer

	window   uint16 // receives posted for eager frames
	arrived  uint16 // eager frames that came on this connection
	returned uint16 // those of them whose receive was posted again
	said     uint16 // limit as last said to the peer
	half     uint16 // how many acknowledgements are worth an update

	updates   uint16 // updates sent on this connection
	confirmed uint16 // those of them the peer has confirmed
	came      uint16 // the peer's updates received on this connection
	told      uint16 // came as last said to the peer

	// before holds, for each update that may be unconfirmed, what the peer could know
	// without it.
	before [UpdateReserve]knowledge
}

// knowledge is the acknowledgement and the limit that a peer may act on.
type knowledge struct{ ack, limit uint16 }

// connect starts a connection on which window receives were granted by the
// record. The peer has so many slots.
func (r *receiver) connect(window, peerSlots uint16) {
	*r = receiver{
		expected: r.expected, saidAck: r.expected,
		window: window, said: window, half: max(min(window, peerSlots)/2, 1),
	}
}

// limit is what the peer's number of frames may reach.
func (r *receiver) limit() uint16 { return r.returned + r.window }

// arrive takes an eager frame.
func (r *receiver) arrive(sequence uint16) (Verdict, error) {
	if r.arrived == r.said {
		return 0, fmt.Errorf("%w: frame %d of the connection came without a credit", ErrViolation, r.arrived)
	}
	r.arrived++
	switch {
	case sequence == r.expected:
		r.expected++
		return Deliver, nil
	case before(sequence, r.expected):
		return Duplicate, nil
	}
	return 0, fmt.Errorf("%w: frame %d came where %d was due", ErrViolation, sequence, r.expected)
}

// confirm takes how many updates the peer has confirmed.
func (r *receiver) confirm(w Word) error {
	if w.confirmed()-r.confirmed > r.updates-r.confirmed {
		return fmt.Errorf("%w: %d updates confirmed, %d were sent", ErrViolation, w.confirmed(), r.updates)
	}
	r.confirmed = w.confirmed()
	return nil
}

// may reports whether an update may be sent: whether it finds a receive, and
// whether the peer can in time say that it confirmed it.
//
// The last reserved receive is used only for an update that enables the peer to
// send a frame, which then says what it confirmed. Without having confirmed the update
// before, the peer has sent no frame beyond the limit and the slots it knew of.
// So it can send one more if the limit is higher than that and a slot is free
// that was not: because more is acknowledged, or because all it could send has
// come.
func (r *receiver) may() bool {
	switch r.updates - r.confirmed {
	case 0:
		return true
	case 1:
		known := r.before[(r.updates-1)%UpdateReserve]
		return before(known.limit, r.limit()) && (before(known.ack, r.expected) || r.arrived == known.limit)
	}
	return false
}

// update notes that one is being sent.
func (r *receiver) update() {
	r.before[r.updates%UpdateReserve] = knowledge{r.saidAck, r.said}
	r.updates++
}

// due reports whether an update is worth a frame.
func (r *receiver) due() bool {
	returned, acks := r.limit()-r.said, r.expected-r.saidAck
	worth := returned >= max(r.window/2, 1) || acks >= r.half || r.updates == 0
	return worth && r.may()
}

// mute reports whether the peer may be unable to send an update until it knows that
// its updates were confirmed, and an update could say so.
func (r *receiver) mute() bool { return r.came-r.told == UpdateReserve && r.may() }

// owed reports whether an update could acknowledge something.
func (r *receiver) owed() bool { return r.expected != r.saidAck && r.may() }
