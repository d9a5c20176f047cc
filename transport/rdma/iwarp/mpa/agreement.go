package mpa

import "errors"

// Offer holds the parameters that one side wants for a connection.
type Offer struct {
	// Revision is 2 for the enhanced set-up, and 1 for the set-up of RFC 5044. A responder ignores
	// this field and uses the initiator's revision.
	Revision uint8
	// CRC asks for CRC32C over every FPDU. CRC32C is used if either side asks for it.
	CRC bool
	// Kin makes the initiator ask whether the peer runs this module (see Kin of Frame). A responder
	// ignores this field, and answers the question if the initiator has asked it.
	Kin bool
	// IRD is the number of inbound RDMA Reads that this side serves at a time. ORD is the number of
	// outbound RDMA Reads that it issues at a time. Both are at most DepthMax.
	IRD, ORD uint16
	// PeerToPeer asks for the peer-to-peer model of RFC 6581. In this model the initiator begins
	// with an RTR. A responder ignores this field and uses the initiator's model.
	PeerToPeer bool
	// RTR is the set of indications that this side can send (initiator) or accept (responder).
	RTR RTR
}

// Agreement holds the parameters that both sides of a connection have agreed on.
type Agreement struct {
	// CRC reports whether both sides generate and check CRCs.
	CRC bool
	// Kin reports whether the peer runs this module.
	Kin bool
	// Enhanced reports whether depths were exchanged. If Enhanced is false, IRD and ORD are the
	// depths that this side offered, and the layer above has to negotiate the depths.
	Enhanced bool
	// RTR is the indication that the initiator sends first. It is zero if the initiator sends no
	// indication.
	RTR RTR
	// IRD and ORD are the depths of this side. ORD is at most the peer's IRD if the peer stated it.
	IRD, ORD uint16
	// PeerIRD and PeerORD are the depths that the peer stated, or DepthUnstated.
	PeerIRD, PeerORD uint16
}

// Request returns the frame with which an initiator begins. private is the private data of the
// layer above; Request copies it. The error is ErrPrivateData.
func (o Offer) Request(private []byte) (Frame, error) {
	f := Frame{CRC: o.CRC, Kin: o.Kin, Revision: o.Revision, Enhanced: o.Revision >= 2}
	e := Enhanced{PeerToPeer: o.PeerToPeer, RTR: o.RTR, IRD: o.IRD, ORD: o.ORD}
	return f.with(e, private)
}

// with returns the frame with private data. In an enhanced frame the depths precede the private
// data.
func (f Frame) with(e Enhanced, private []byte) (Frame, error) {
	var data []byte
	if f.Enhanced {
		data = e.Append(data)
	}
	if len(data)+len(private) > PrivateDataMax {
		return Frame{}, ErrPrivateData
	}
	data = append(data, private...)
	f.PrivateData = data
	return f, nil
}

// Screen validates a request before the consumer is asked whether to accept it. If the error is
// ErrMarkers, the responder answers with Reject. If Screen returns any other error, the responder
// closes the connection without an answer (RFC 5044 section 7.1.2, RFC 6581 section 10).
func Screen(request Frame) error {
	switch {
	case request.Reply:
		return ErrUnasked
	case request.Revision != 1 && request.Revision != 2:
		return ErrRevision
	}
	if _, _, err := request.Split(); err != nil {
		return err
	}
	if request.Markers {
		return ErrMarkers
	}
	return nil
}

// Accept returns the reply to a request that has passed Screen, and the parameters on which both
// sides agree by this reply (RFC 6581 sections 9.1 and 9.2). The responder lowers its own depths to
// the depths that the initiator can use and serve, copies the initiator's model, and selects one
// RTR. It prefers a Write, because a Write consumes no receive and does not count against the
// depths.
func (o Offer) Accept(request Frame, private []byte) (Frame, Agreement, error) {
	if err := Screen(request); err != nil {
		return Frame{}, Agreement{}, err
	}
	peer, _, _ := request.Split() // no error, because Screen has already checked that Split succeeds
	a := Agreement{
		CRC: request.CRC || o.CRC, Kin: request.Kin, Enhanced: request.Enhanced,
		IRD: o.IRD, ORD: o.ORD, PeerIRD: peer.IRD, PeerORD: peer.ORD,
	}
	answer := Enhanced{PeerToPeer: peer.PeerToPeer, IRD: DepthUnstated, ORD: DepthUnstated}
	if peer.IRD != DepthUnstated {
		a.ORD = min(o.ORD, peer.IRD)
		answer.ORD = a.ORD
	}
	if peer.PeerToPeer {
		a.RTR = choose(o.RTR & peer.RTR)
		if a.RTR == 0 {
			// No RTR is common to both sides. The reply names an RTR that this side can accept. So
			// the initiator learns which RTR the responder requires. The initiator does not support
			// this RTR, and terminates the connection.
			a.RTR = choose(o.RTR)
		}
		answer.RTR = a.RTR
	}
	if peer.ORD != DepthUnstated {
		a.IRD = min(o.IRD, peer.ORD)
		if a.RTR == RTRRead {
			a.IRD = max(a.IRD, 1)
		}
		answer.IRD = a.IRD
	}
	f := Frame{Reply: true, CRC: a.CRC, Kin: a.Kin, Revision: request.Revision, Enhanced: request.Enhanced}
	f, err := f.with(answer, private)
	return f, a, err
}

// choose returns the preferred indication of a set. It returns zero if the set is empty.
func choose(set RTR) RTR {
	for _, r := range []RTR{RTRWrite, RTRRead, RTRSend} {
		if set&r != 0 {
			return r
		}
	}
	return 0
}

// Reject returns the reply that rejects a request. The reply states this side's depths, so that the
// initiator learns which depths it can request in another attempt.
func (o Offer) Reject(request Frame, private []byte) (Frame, error) {
	revision := min(max(request.Revision, 1), 2)
	f := Frame{Reply: true, Reject: true, CRC: request.CRC, Revision: revision, Enhanced: request.Enhanced}
	peer, _, err := request.Split()
	if err != nil {
		f.Enhanced = false
	}
	return f.with(Enhanced{PeerToPeer: peer.PeerToPeer, RTR: choose(o.RTR), IRD: o.IRD, ORD: o.ORD}, private)
}

// Conclude evaluates the reply to the request that this offer made.
//
// If the error is ErrRejected, the agreement has the responder's depths, and the frame reply has
// the responder's private data. After any other error, the initiator sends a Terminate message
// before it closes the connection. CodeOf returns the code of this message.
func (o Offer) Conclude(reply Frame) (Agreement, error) {
	peer, _, err := reply.Split()
	switch {
	case !reply.Reply:
		return Agreement{}, ErrActiveActive
	case reply.Revision == 0, reply.Revision > max(o.Revision, 1):
		return Agreement{}, ErrRevision
	case err != nil:
		return Agreement{}, err
	}
	a := Agreement{
		CRC: reply.CRC || o.CRC, Kin: o.Kin && reply.Kin, Enhanced: reply.Enhanced,
		IRD: o.IRD, ORD: o.ORD, PeerIRD: peer.IRD, PeerORD: peer.ORD,
	}
	switch {
	case reply.Reject:
		return a, ErrRejected
	case reply.Markers:
		return a, ErrMarkers
	case reply.Enhanced != (o.Revision >= 2):
		return a, ErrEnhanced
	}
	if peer.ORD != DepthUnstated && peer.ORD > o.IRD {
		return a, ErrInsufficient
	}
	if peer.IRD != DepthUnstated {
		a.ORD = min(o.ORD, peer.IRD)
	}
	if !o.PeerToPeer || !peer.PeerToPeer {
		return a, nil
	}
	common := o.RTR & peer.RTR
	if a.ORD == 0 {
		common &^= RTRRead
	}
	if a.RTR = choose(common); a.RTR == 0 {
		return a, ErrRTR
	}
	return a, nil
}

// CodeOf returns the code of the Terminate message that an initiator sends because of an error of
// Conclude. If the error is a FaultError, this FaultError is the code. Any other error is reported
// as ErrFrame.
func CodeOf(err error) FaultError {
	var f FaultError
	if errors.As(err, &f) {
		return f
	}
	return ErrFrame
}
