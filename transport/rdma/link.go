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

// link is one connection with a peer, or an attempt at one. The actor of the peer
// makes it and decides what becomes of it; Poll does with its endpoint what the
// actor has decided. Who may touch which fields is said there.
type link struct {
	// conn, peer and greeting are set by the actor, the request and the proposal of a passive one
	// by Poll before the actor is told; they are constant.
	// So is rail, the own one; peerRail is the number of the peer's, which the side that knows it
	// first sets, as it does terms.
	conn     peering.Conn
	peer     int
	rail     *rail
	peerRail uint8
	purpose  negotiation.Purpose
	way      candidate // of an active one
	// timeout is how long the request of an active one may take.
	timeout time.Duration
	// beside is the connection in use when an own side connection was asked for.
	beside   *link
	greeting peering.Greeting
	remote   netip.AddrPort
	request  *verbs.ConnectionRequest
	proposal negotiation.Record
	event    negotiation.Event
	asked    []byte // the peer's request as it came
	answered bool   // by the peer, which the actor alone looks at
	// replied is the private data of the reply: Poll sets what a passive one sends, the actor what
	// an active one gets, before it is used.
	replied []byte

	// offer and offered are the record sent and its bytes. Poll sets them before the
	// request goes out; the actor reads them when it is told of the answer.
	offer   negotiation.Record
	offered []byte
	// terms are set by the side that knows them first: Poll when it accepts, the actor when
	// it is accepted. Poll reads them from the command to use the link on.
	terms negotiation.Terms

	// The rest is Poll's.
	endpoint *verbs.Endpoint
	window   int // receives of the pool, without those reserved
	control  buffer
	updates  int
	// frames is the number of eager frames that may be posted of which the adapter is not known
	// to be done. posted counts Sends, done those of them that the adapter is known to be done
	// with.
	frames       uint32
	posted, done uint32
	used         bool   // it was put in use
	retired      bool   // only control messages are sent and received
	broken       bool   // the endpoint took a request no more
	gone         bool   // the endpoint was freed
	active       bool   // the actor knows of the first message, which was the proof of the peer
	greeted      bool   // that was delivered, and no other one is due
	pressed      bool   // Close has asked for the last acknowledgement
	marker       uint16 // sequence number of the frame that asked
	held         []arrived
	// cause is why it ended, if that was said before it was freed.
	cause error
	// left are buffers of frames that moved to another rail while the adapter might still
	// read them.
	left []buffer
}

// arrived is a message in a receive.
type arrived struct {
	link   *link
	slot   uint32
	length int
}

const (
	// linkEvents is the number of connection events of an endpoint.
	linkEvents = 3
	// controlFrames is how many control frames may be on their way, each in its place
	// of the link's control buffer: updates in turn, then BYE and BYE-ACK.
	controlFrames = credit.UpdateReserve + 2
	// controlBytes is the memory for them, and for the proof that the active side begins with.
	controlBytes = controlFrames*headBytes + proofBytes
)

// failure to make a link, as the actor is told.
func (l *link) failed(t *Transport, err error) {
	l.cause = err
	t.forget(l)
	t.lost(l, peering.Answered, err)
}

// open makes the endpoint of a link and reserves what it needs.
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

// orFull is the cause of a refusal for want of send memory.
func orFull(err error) error {
	if err == nil {
		return verbs.ErrInsufficientResources
	}
	return err
}

// dial requests the connection.
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
		// Ranks are told of each other's addresses by the job, whose ranks have one provider.
		err = l.endpoint.Connect(zoned(l.remote, l.rail.location().Address.Addr().Zone()), verbs.ConnectOptions{Timeout: l.timeout, Flags: verbs.ConnectSameProvider, Param: &verbs.ConnParam{
			PrivateData: l.offered, ResponderResources: l.offer.Depths.IRD, InitiatorDepth: l.offer.Depths.ORD,
			RetryCount: retries, RNRRetryCount: retries,
		}})
	}
	if err != nil {
		l.failed(t, err)
	}
}

// zoned gives a link-local address of a peer the zone of the own address: what peers say of
// theirs carries none, since it is a matter of each host (RFC 4007 section 6).
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

// retries is the most that the parameters of a connection can say.
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
		t.reject(l.request, reject, l.asked)
		l.failed(t, err)
	}
}

// forget frees a link. Nothing touches memory for its sake afterwards.
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
	// It can be freed in every state that a link is in.
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

// sendControl posts a control frame.
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

// sendProof sends the first message of the active side: an update with its proof.
func (t *Transport) sendProof(l *link, w credit.Word) {
	b := l.rail.sends.bytes(&l.control)[controlFrames*headBytes : controlFrames*headBytes+headBytes : controlBytes]
	putHead(b, w, frameProof, false)
	t.post(l, t.credentials.AppendProof(b, l.offered, l.replied), l.control.lkey, 0)
}

// signalEvery is how often a Send makes a completion: adapters free the places of
// unsignalled requests with the next signalled one.
const signalEvery = 8

// post posts a Send, for which there is a place. The flags are 0, or FlagRoom for a b with
// room around the frame. It does not allocate. A link whose
// endpoint refuses it has failed, and an event says so; what was not acknowledged is
// sent again on the next.
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

// room reports whether an eager frame may be posted. Control frames always may.
func (t *Transport) room(l *link) bool { return l.posted-l.done < l.frames && !l.broken }

// idKind says what the ID of a work request means.
type idKind uint8

const (
	idSend  idKind = iota // the number of the Send on its link
	idRead                // an operation
	idWrite               // an operation
)

func idOf(k idKind, n uint32) uint64 { return uint64(k)<<32 | uint64(n) }

func parseID(id uint64) (idKind, uint32) { return idKind(id >> 32), uint32(id) }
