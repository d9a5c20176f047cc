package shm

import (
	"sync/atomic"

	"github.com/gorun-hpc/gorun/transport"
)

const (
	// eagerBest is the payload up to which the lane beats a single copy by Get: 16 KiB
	// take 2.7 us, not 6.8, measured (docs/adr/0029).
	eagerBest = 16 << 10
	// ringAfter is the number of messages to a peer after which its inbox is left
	// for a ring.
	ringAfter = 16
	// ringRetry is the number of messages between two attempts to find a free ring.
	ringRetry = 256
	// maxReads is the number of Gets under way to one peer.
	maxReads = 64
)

// endpoint is the way to one rank of the node.
type endpoint struct {
	t *Transport
	// ring is the sending end of our ring there; words is nil in the inbox lane.
	ring ringWriter
	// alert is the peer's alert word; alerts are the bits that concern us.
	alert  *uint64
	alerts uint64

	inbox   inboxWriter
	control segment
	listing segment
	bell    transport.Sleeper
	// peer is the rank, slot the local rank.
	peer, slot int
	// number of the ring, valid when ring.words is not nil.
	number int
	// sent counts messages in the inbox until the next attempt to leave it.
	sent int
	// introduced says that the peer's header was seen and is sound.
	introduced bool
	// prepared says that the endpoint was made for Prepare.
	prepared bool
	// down is the loss of the peer once it was reported.
	down *transport.PeerDown
	// blocked says that the endpoint is in the transport's list of those.
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
		// Until the peer is introduced it is not known whether it can run barriers.
		inbox: inboxWriter{newInboxEnds(c), uint64(t.cfg.LocalRank), true},
	}
}

// Caps implements transport.Endpoint.
func (e *endpoint) Caps() transport.Caps {
	return transport.Caps{
		MaxEager: maxEager, EagerBest: eagerBest,
		Get: true, Put: true, FetchAdd: true, Handover: true, MaxReads: maxReads,
	}
}

// Away implements transport.Scheduled. Of ranks that are goroutines of one process nothing is known.
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

// send is Send off the short path: in the inbox, or when something is wrong.
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

// put writes a record into the lane, whichever it is, and wakes the peer.
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
		e.t.lose(e.peer, transport.ErrDamaged, false)
		return e.t.failure("send", e.peer, transport.ErrDamaged)
	default:
	}
	if a := atomic.LoadUint64(e.alert); a&e.alerts != 0 {
		e.alerted(a)
	}
	return nil
}

// refused remembers that a lane had no room, so that Arm asks for a ring of the
// bell when there is.
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

// introduce reads the peer's header once the peer has joined. Before that the
// inbox can be used already: its memory is zeros.
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
		e.t.lose(e.peer, transport.ErrDamaged, false)
		return e.t.failure("connect", e.peer, transport.ErrDamaged)
	}
	e.introduced = true
	e.inbox.fence = e.t.fences || state&stateFences != 0
	return nil
}

// alerted serves the bits of the peer's alert word that concern us.
func (e *endpoint) alerted(a uint64) {
	if a&alertArmed != 0 {
		e.wake(a)
	}
	if a&e.alerts&^alertArmed != 0 {
		e.returnRing()
	}
}

// wake rings the peer, whose alert word was a, and only then says that it was rung: a
// rank that is stopped or killed in between swallows no wake-up, since the next one
// finds the peer armed and rings, too. If the peer has slept since and is armed
// again, the word has another generation and stays as it is.
func (e *endpoint) wake(a uint64) {
	e.bell.Ring()
	atomic.CompareAndSwapUint64(e.alert, a, a&^alertArmed)
}
