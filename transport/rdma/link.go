package rdma

import (
	"crypto/rand"
	"fmt"
	"net/netip"
	"time"

	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/rdma/internal/credit"
	"github.com/gorun-hpc/gorun/transport/rdma/internal/negotiation"
	"github.com/gorun-hpc/gorun/transport/rdma/internal/peering"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// link is one connection with a peer, or an attempt at one. The actor of the peer makes the
// decisions about a link, and Poll executes these decisions on the link's endpoint. Poll makes a
// passive link, and the actor makes an active link. The comments of the fields say which goroutine
// may access them.
type link struct {
	// The actor sets conn and greeting. The actor or Poll, whichever makes the link, sets peer,
	// rail and purpose. Poll sets the request, the proposal and the other data of the peer's
	// request before it informs the actor. rail is the rail of this rank. peerRail is the number of
	// the peer's rail. The actor or Poll sets peerRail, whichever knows it first. Each of these
	// fields is constant after it was set.
	conn     peering.Conn
	peer     int
	rail     *rail
	peerRail uint8
	purpose  negotiation.Purpose
	way      candidate // of an active link
	// timeout is the maximum duration of the request of an active link.
	timeout time.Duration
	// beside is set only for a side connection that this rank has requested. beside is the
	// connection that was in use at the time of the request.
	beside   *link
	greeting peering.Greeting
	remote   netip.AddrPort
	request  *verbs.ConnectionRequest
	proposal negotiation.Record
	event    negotiation.Event
	asked    []byte // the private data of the peer's request
	// replied is the private data of the reply. Poll sets it for a passive link when it sends the
	// reply. The actor sets it for an active link when the reply arrives, before the link is used.
	replied []byte

	// offer is the record of this rank's request, and offered has its bytes. Poll sets them before it sends
	// the request. The actor reads them when it learns of the answer.
	offer   negotiation.Record
	offered []byte
	// terms are the negotiated terms. Poll sets terms when it accepts a request. The actor sets
	// terms when the peer has accepted. When the link is in use, Poll reads terms.
	terms negotiation.Terms

	// Only Poll accesses the fields below.
	endpoint *verbs.Endpoint
	window   int // receives that the link has from the pool, without the reserved receives
	control  buffer
	updates  int
	// frames is a limit: while frames or more posted Sends are not known to be complete, no further eager
	// frame is posted. Control frames are posted nevertheless. posted is the number of Sends that were
	// posted. done is the number of posted Sends that are known to be complete.
	frames       uint32
	posted, done uint32
	used         bool      // the link was put in use
	broken       bool      // the endpoint has refused a request
	gone         bool      // the link was freed (forget)
	active       bool      // the first message of the active side has arrived, and its proof is valid
	greeted      bool      // the frame with the proof was handled, and no other proof is allowed
	pressed      bool      // Close has asked for the acknowledgement of all frames
	marker       uint16    // sequence number of the frame by which Close has asked
	held         []arrived // messages that arrived before the link was in use
	// cause is the reason of the end of the link, if it is known before the link is freed.
	cause error
	// left are the former buffers of frames that moved to another rail. The adapter might still
	// read the buffers until the link is freed.
	left []buffer
}

// arrived is a message in the memory of a receive.
type arrived struct {
	link   *link
	slot   uint32
	length int
}

const (
	// linkEvents is the maximum number of connection events of an endpoint.
	linkEvents = 3
	// controlFrames is the maximum number of control frames in flight. Each of them has a place in
	// the link's control buffer. Updates and marks use the first places in turn. BYE and BYE-ACK,
	// the frames of an orderly end, use the last two places.
	controlFrames = credit.UpdateReserve + 2
	// controlBytes is the size of the control buffer in bytes. The buffer contains the control
	// frames, and the proof that the active side sends as its first message.
	controlBytes = controlFrames*headBytes + proofBytes
)

// failed frees the link and tells the actor of the peer that the link has ended with err.
func (l *link) failed(t *Transport, err error) {
	l.cause = err
	t.forget(l)
	t.lost(l, peering.Unasked, err)
}

// open makes the endpoint of a link and reserves the memory and receives that it needs.
func (t *Transport) open(l *link) error {
	r := l.rail
	if err := r.out(); err != nil {
		return fmt.Errorf("adapter %s: %w", r.name(), err)
	}
	count, most := r.counter(l)
	if *count >= most {
		return fmt.Errorf("%w: %d connections are open", verbs.ErrInsufficientResources, *count)
	}
	control, ok, err := r.sends.take(controlBytes)
	if err != nil || !ok {
		return fmt.Errorf("memory for control frames: %w", orFull(err))
	}
	ep, err := r.adapter.NewEndpoint(verbs.EndpointConfig{
		Domain: r.domain, Receives: r.queue, Requests: r.queue, Connections: r.queue,
		SharedReceives: r.receives.queue, Attributes: &r.attributes, Guarded: true,
	})
	if err != nil {
		r.sends.give(control)
		return err
	}
	l.endpoint, l.control = ep, control
	if l.purpose == negotiation.Lane {
		l.window = r.pool.Join()
	}
	t.links[ep] = l
	*count++
	info, err := ep.Query()
	if err != nil {
		return err
	}
	if l.frames, err = t.measure.granted(info.Attributes.MaxRequests, r.attributes.ReadsOut); err != nil {
		return err
	}
	return r.receives.need(r.granted())
}

// orFull returns err, or, if err is nil, the error that send memory is exhausted.
func orFull(err error) error {
	if err == nil {
		return verbs.ErrInsufficientResources
	}
	return err
}

// dial sends the connection request of an active link.
func (t *Transport) dial(l *link) {
	var err error
	if t.closed && l.purpose != negotiation.Lane {
		err = transport.ErrClosed
	} else {
		err = t.open(l)
	}
	if err == nil {
		l.offer = l.rail.policy.Request(uint16(l.window))
		l.offer.Purpose = l.purpose
		l.offer.Incarnation, l.offer.Attempt, l.offer.Nonce = l.greeting.Incarnation, l.greeting.Attempt, newNonce()
		l.offered = t.credentials.AppendRequest(nil, &l.offer, uint32(l.peer))
		// ConnectSameProvider is correct, because the job distributes the addresses, and all ranks
		// use the same provider in a fabric.
		err = l.endpoint.Connect(zoned(l.remote, l.rail.location().Address.Addr().Zone()), verbs.ConnectOptions{Timeout: l.timeout, Flags: verbs.ConnectSameProvider, Param: &verbs.ConnParam{
			PrivateData: l.offered, ResponderResources: l.offer.Depths.IRD, InitiatorDepth: l.offer.Depths.ORD,
			RetryCount: retries, RNRRetryCount: retries,
		}})
	}
	if err != nil {
		l.failed(t, err)
	}
}

// zoned sets the zone of a link-local address of a peer to the zone of this rank's own address.
// Addresses that peers publish have no zone, because zones are local to each host (RFC 4007 section
// 6).
func zoned(a netip.AddrPort, zone string) netip.AddrPort {
	if ip := a.Addr(); ip.Is6() && ip.IsLinkLocalUnicast() {
		return netip.AddrPortFrom(ip.WithZone(zone), a.Port())
	}
	return a
}

// newNonce makes the nonce of a record.
func newNonce() (n negotiation.Nonce) {
	_, _ = rand.Read(n[:]) // never fails
	return n
}

// retries is the maximum value of a retry count in the parameters of a connection.
const retries = 7

// accept accepts the connection that the peer has requested.
func (t *Transport) accept(l *link) {
	err := t.open(l)
	var reply negotiation.Record
	if err == nil {
		reply, l.terms = l.rail.policy.Accept(&l.proposal, l.event, uint16(l.window))
	}
	if err == nil {
		reply.Incarnation, reply.Attempt, reply.Nonce = l.greeting.Incarnation, l.greeting.Attempt, newNonce()
		l.replied = t.credentials.AppendReply(nil, &reply, uint32(l.peer), l.asked)
		err = l.request.Accept(l.endpoint, &verbs.ConnParam{
			PrivateData: l.replied, ResponderResources: reply.Depths.IRD, InitiatorDepth: reply.Depths.ORD, RNRRetryCount: retries,
		})
	}
	if err != nil {
		reject := negotiation.RejectOf(err)
		t.strangers.declined(reject.Reason)
		t.refuse(l, reject)
		l.failed(t, err)
	}
}

// refuse rejects the request of a passive link. If the adapter was removed, the close of the adapter
// refuses the request instead. A rejection would wait for that close.
func (t *Transport) refuse(l *link, r negotiation.Reject) {
	if !l.rail.removed {
		t.reject(l.request, r, l.asked)
	}
}

// forget frees a link. After that no adapter accesses memory for the link.
func (t *Transport) forget(l *link) {
	if l.gone {
		return
	}
	l.gone = true
	if p := t.peers[l.peer]; p != nil && p.link == l {
		p.retire(nil)
	}
	r := l.rail
	for _, a := range l.held {
		r.recycle(a.slot)
	}
	l.held = nil
	if l.endpoint == nil {
		return
	}
	// Free does not fail, because the endpoint of a link can be freed in every state.
	_ = l.endpoint.Free()
	delete(t.links, l.endpoint)
	if p := t.peers[l.peer]; p != nil && p.side.link == l {
		p.side.lost(p, l.cause)
	}
	count, _ := r.counter(l)
	*count--
	r.sends.give(l.control)
	for _, b := range l.left {
		r.sends.give(b)
	}
	l.left = nil
	if l.purpose == negotiation.Lane {
		r.pool.Leave(l.window)
	}
	r.receives.wanted = r.granted()
	t.lastLink = nil
}

// sendControl posts a control frame with the word w.
func (t *Transport) sendControl(l *link, w credit.Word, k frameKind, final bool) {
	place := controlFrames - 2
	switch k {
	case frameUpdate, frameMark:
		place = l.updates % credit.UpdateReserve
	case frameByeAck:
		place++
	default:
	}
	b := l.rail.sends.bytes(&l.control)[place*headBytes : (place+1)*headBytes : (place+1)*headBytes]
	putHead(b, w, k, final)
	if k == frameUpdate || k == frameMark {
		l.updates++
	}
	t.post(l, b, l.control.lkey, 0)
}

// sendProof posts the first message of the active side: an update with the proof.
func (t *Transport) sendProof(l *link, w credit.Word) {
	b := l.rail.sends.bytes(&l.control)[controlFrames*headBytes : controlFrames*headBytes+headBytes : controlBytes]
	putHead(b, w, frameProof, false)
	t.post(l, t.credentials.AppendProof(b, l.offered, l.replied), l.control.lkey, 0)
}

// signalEvery is the distance between Sends that request a completion: one of signalEvery
// consecutive Sends requests it. Adapters free the queue entries of unsignalled requests only when
// the next signalled request completes.
const signalEvery = 8

// post posts a Send. The caller ensures that the endpoint has room for the Send. flags is 0, or
// FlagRoom if b has room around the frame. post does not allocate memory. If the endpoint refuses
// the Send, the link has failed, and an event reports the failure. Unacknowledged frames are
// retransmitted on the next connection.
func (t *Transport) post(l *link, b []byte, lkey uint32, flags verbs.RequestFlags) {
	if l.broken {
		return
	}
	l.posted++
	t.segments[0] = verbs.Segment{Data: b, LKey: lkey}
	t.request.ID, t.request.Flags = idOf(idSend, l.posted), flags|l.rail.flags()
	if l.posted%signalEvery != 0 {
		t.request.Flags |= verbs.FlagUnsignalled
	}
	l.broken = l.endpoint.Post(&t.request) != nil
}

// room reports whether an eager frame may be posted. Control frames may always be posted.
func (t *Transport) room(l *link) bool { return l.posted-l.done < l.frames && !l.broken }

// idKind is the kind of the ID of a work request.
type idKind uint8

const (
	idSend  idKind = iota // the ID is the number of the Send on its link
	idRead                // the ID is the number of an operation
	idWrite               // the ID is the number of an operation
)

func idOf(k idKind, n uint32) uint64 { return uint64(k)<<32 | uint64(n) }

func parseID(id uint64) (idKind, uint32) { return idKind(id >> 32), uint32(id) }
