package credit

import "fmt"

// receiver is the side of a Flow that receives eager frames.
type receiver struct {
	expected uint16 // sequence number of the next frame to deliver
	saidAck  uint16 // value of expected that was last sent to the peer

	window   uint16 // receives posted for eager frames
	arrived  uint16 // eager frames that arrived on this connection
	returned uint16 // eager frames of this connection whose receive was posted again
	said     uint16 // value of limit() that was last sent to the peer
	half     uint16 // if at least this number of frames is to be acknowledged, an update is due

	updates   uint16 // updates sent on this connection
	confirmed uint16 // updates of this connection that the peer has confirmed
	came      uint16 // the peer's updates received on this connection
	told      uint16 // value of came that was last sent to the peer

	// before holds an entry for each update that may be unconfirmed: the last acknowledgement and
	// the last limit that were sent to the peer before this update.
	before [UpdateReserve]knowledge
}

// knowledge is an acknowledgement and a limit that were sent to the peer.
type knowledge struct{ ack, limit uint16 }

// connect starts a connection. window is the number of receives that this side grants in its
// record. peerSlots is the number of slots of the peer's sender.
func (r *receiver) connect(window, peerSlots uint16) {
	*r = receiver{
		expected: r.expected, saidAck: r.expected,
		window: window, said: window, half: max(min(window, peerSlots)/2, 1),
	}
}

// limit returns the maximum number of eager frames that the peer may send on this connection.
func (r *receiver) limit() uint16 { return r.returned + r.window }

// arrive counts an eager frame that has arrived, and returns whether to deliver it.
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

// confirm records how many updates the peer has confirmed.
func (r *receiver) confirm(w Word) error {
	if w.confirmed()-r.confirmed > r.updates-r.confirmed {
		return fmt.Errorf("%w: %d updates confirmed, %d were sent", ErrViolation, w.confirmed(), r.updates)
	}
	r.confirmed = w.confirmed()
	return nil
}

// may reports whether an update may be sent. An update may be sent if it finds a reserved receive,
// and if the peer can confirm it.
//
// The last reserved receive is used only for an update that enables the peer to send a frame,
// because this frame confirms the update. While the previous update is unconfirmed, all frames
// that have arrived were sent under the limit and the acknowledgement that preceded the previous
// update. The new update enables the peer to send one more frame on two conditions. First, the new
// limit must be higher than that earlier limit. Second, the peer must have a free slot. It has a
// free slot if the new update acknowledges more frames than that earlier acknowledgement, or if all
// frames that the earlier limit allowed have arrived.
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

// update records that an update is being sent.
func (r *receiver) update() {
	r.before[r.updates%UpdateReserve] = knowledge{r.saidAck, r.said}
	r.updates++
}

// due reports whether an update may be sent and is worth sending. An update is worth sending if it is
// the first one of the connection, returns enough credit, or acknowledges enough frames.
func (r *receiver) due() bool {
	returned, acks := r.limit()-r.said, r.expected-r.saidAck
	worth := returned >= max(r.window/2, 1) || acks >= r.half || r.updates == 0
	return worth && r.may()
}

// mute reports whether the peer needs an update and the update may be sent. The peer needs it if this
// side has not confirmed UpdateReserve updates of the peer. Without a confirmation, the peer may be
// unable to send another update.
func (r *receiver) mute() bool { return r.came-r.told == UpdateReserve && r.may() }

// owed reports whether an update may be sent and would acknowledge frames.
func (r *receiver) owed() bool { return r.expected != r.saidAck && r.may() }
