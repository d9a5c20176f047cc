package shm

import (
	"sync/atomic"

	"github.com/gorun-hpc/gorun/transport"
)

const (
	// eagerBest is the length in bytes of the longest payload of a record (maxEager), because up to
	// this length the lane is faster than a single copy by Get. 16 KiB take 2.7 us in the lane and
	// 6.8 us by Get (measured, docs/adr/0029).
	eagerBest = 16 << 10
	// eagerBoth is about the length in bytes from which on a single copy by Get is faster while
	// messages stream in both directions (measured, docs/adr/0072).
	eagerBoth = 12 << 10
	// ringAfter is the number of messages to a peer after which the lane moves from the
	// peer's inbox to a ring.
	ringAfter = 16
	// ringRetry is the number of messages between two attempts to find a free ring.
	ringRetry = 256
	// maxReads bounds the number of Gets, Puts and FetchAdds in flight to one peer, all kinds
	// together.
	maxReads = 64
)

// endpoint is a rank's access to another rank of the node.
type endpoint struct {
	t *Transport
	// ring is the sending end of the ring that this rank has taken at the peer. ring.words
	// is nil while the lane is in the inbox.
	ring ringWriter
	// alert is the peer's alert word. alerts has the bits of the alert word that concern this rank.
	alert  *uint64
	alerts uint64

	inbox   inboxWriter
	control segment
	listing segment
	bell    transport.Sleeper
	// peer is the rank of the peer in the world. slot is its local rank on the node.
	peer, slot int
	// number is the number of the ring, valid if ring.words is not nil.
	number int
	// sent counts the calls of Send while the lane is in the inbox, including refused ones. When it
	// reaches ringAfter, the endpoint tries to take a ring. If no ring is free, or if the endpoint returns its
	// ring, sent is set to ringAfter-ringRetry.
	sent int
	// introduced is true when the peer's header has been read and found valid.
	introduced bool
	// prepared is true if Prepare has taken a ring before the first message to the peer, and no ring that was given
	// back since then, in either direction, has carried a message (see Known).
	prepared bool
	// down is the loss of the peer. It is nil before the loss is reported.
	down *transport.PeerDown
	// blocked is true while the endpoint is in Transport.blocked.
	blocked bool

	reach reach
}

var _ transport.Endpoint = (*endpoint)(nil)

func newEndpoint(t *Transport, slot int) *endpoint {
	c := t.node.control(slot)
	return &endpoint{
		t: t, peer: t.cfg.Peers[slot], slot: slot,
		control: c, listing: c.at(offListing, listingSlots*listingBytes),
		alert: c.word(offAlert), alerts: alertArmed,
		bell: t.node.bell(slot),
		// The last field, fence, is true, because before the peer is introduced it is not known
		// whether the peer can run barriers.
		inbox: inboxWriter{newInboxEnds(c), uint64(t.cfg.LocalRank), true},
	}
}

// Caps implements transport.Endpoint.
func (e *endpoint) Caps() transport.Caps {
	c := transport.Caps{
		MaxEager: maxEager, EagerBest: eagerBest,
		Get: true, Put: true, FetchAdd: true, Handover: true, MaxReads: maxReads,
	}
	if e.introduced && atomic.LoadUint64(e.control.word(offState))&stateMask == stateRunning && e.direct() {
		c.EagerBoth = eagerBoth // without direct, a Get copies twice, too
	}
	return c
}

// Away implements transport.Scheduled. It returns false for ranks that are goroutines of one process,
// because their state is not known.
func (e *endpoint) Away() bool {
	d, ok := e.bell.(doorbell)
	return ok && d.absent()
}

// Send implements transport.Endpoint.
func (e *endpoint) Send(h transport.Header, payload []byte) error {
	if e.ring.words != nil && len(payload) <= maxEager && e.ring.put(kindMessage, h, payload) == written {
		if a := atomic.LoadUint64(e.alert); a&e.alerts != 0 {
			e.alerted(a)
		}
		return nil
	}
	return e.send(h, payload)
}

// send is the slow path of Send: the lane is in the inbox, the ring is full, or there is an error.
func (e *endpoint) send(h transport.Header, payload []byte) error {
	switch {
	case e.t.closed:
		return e.t.failure("send", e.peer, transport.ErrClosed)
	case e.down != nil:
		return e.t.failure("send", e.peer, e.down)
	case len(payload) > maxEager:
		return e.t.failure("send", e.peer, transport.ErrTooLong)
	}
	if err := e.introduce(); err != nil {
		return err
	}
	if e.ring.words == nil {
		e.sent++
		if e.introduced && e.sent >= ringAfter {
			e.leaveInbox()
		}
	}
	return e.put(kindMessage, h, payload)
}

// put writes a record into the ring, or into the inbox if there is no ring. It wakes the peer if the
// peer is armed, and gives the ring back if the peer wants the ring.
func (e *endpoint) put(kind uint8, h transport.Header, payload []byte) error {
	var v verdict
	if e.ring.words != nil {
		v = e.ring.put(kind, h, payload)
	} else {
		v = e.inbox.put(kind, h, payload)
	}
	switch v {
	case full:
		return e.refused()
	case damaged:
		e.t.GiveUp(e.peer, transport.ErrDamaged)
		return e.t.failure("send", e.peer, transport.ErrDamaged)
	default:
	}
	if a := atomic.LoadUint64(e.alert); a&e.alerts != 0 {
		e.alerted(a)
	}
	return nil
}

// refused returns the error of a record for which the lane had no room. If the peer is not closed,
// refused adds the endpoint to Transport.blocked, so that Arm asks the peer to ring when there is
// room.
func (e *endpoint) refused() error {
	if atomic.LoadUint64(e.control.word(offState))&stateMask == stateClosed {
		return e.t.failure("send", e.peer, transport.ErrClosed)
	}
	if !e.blocked {
		e.blocked = true
		e.t.blocked = append(e.t.blocked, e)
	}
	return transport.ErrAgain
}

// introduce reads the peer's header if the peer has joined. The peer's inbox can be used before the
// peer joins, because memory of zeros is an empty inbox.
func (e *endpoint) introduce() error {
	state := atomic.LoadUint64(e.control.word(offState))
	if state&stateMask == stateClosed {
		return e.t.failure("send", e.peer, transport.ErrClosed)
	}
	if e.introduced || state&stateMask == stateAbsent {
		return nil
	}
	if atomic.LoadUint64(e.control.word(offMagic)) != layoutMagic ||
		atomic.LoadUint64(e.control.word(offVersion)) != layoutVersion {
		e.t.GiveUp(e.peer, transport.ErrDamaged)
		return e.t.failure("connect", e.peer, transport.ErrDamaged)
	}
	e.introduced = true
	e.inbox.fence = e.t.fences || state&stateFences != 0
	return nil
}

// alerted handles the bits of a, the peer's alert word, that concern this rank. alerted wakes the
// peer if the peer is armed, and gives the ring back if the peer wants the ring.
func (e *endpoint) alerted(a uint64) {
	if a&alertArmed != 0 {
		e.wake(a)
	}
	if a&e.alerts&^alertArmed != 0 {
		e.returnRing()
	}
}

// wake rings the peer, whose alert word was a, and only then clears the armed bit. If this rank is
// stopped or killed between these two steps, no wake-up is lost, because the next sender finds the
// peer armed and also rings. If the peer has armed again in the meantime, the word has another
// generation, and wake does not change it.
func (e *endpoint) wake(a uint64) {
	e.bell.Ring()
	atomic.CompareAndSwapUint64(e.alert, a, a&^alertArmed)
}
