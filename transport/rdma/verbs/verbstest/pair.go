package verbstest

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// phase is the state of the connection of a pair.
type phase uint8

const (
	phaseIdle phase = iota
	phaseConnecting
	phaseAccepting
	phaseOpen
	phaseClosing
	phaseDead
)

// retriesForever is the retry count that stands for unlimited retries.
const retriesForever = 7

// pair is a queue pair.
type pair struct {
	device        *device
	config        provider.QueuePairConfig
	domain        *domain
	shared        *sharedReceives
	phase         phase
	peer          *pair
	local, remote netip.AddrPort
	contacted     bool
	// silent is true on a passive side that must not send yet, because no message of the
	// active side has arrived.
	silent bool
	// posted holds the receives of the endpoint that no message has consumed.
	posted []*provider.Receive
	// quiet counts the requests since the last signalled request. last is the number of the last
	// request. draining is true if no more requests will be posted.
	quiet    int
	last     uint64
	draining bool
	// reads counts the Reads and atomics of this pair that are in flight. serves is the number of
	// Reads and atomics that the peer may have in flight.
	reads, serves int
	// held holds frames in the order of their arrival. The first of them waits for a receive. tried is
	// true if the pair has tried to deliver the first frame. left is the number of retries that are
	// left for this frame. again is the time of the next retry. retries is the number of retries of
	// each frame. stalled is true while the pair is in device.stalled.
	held          []frame
	retries, left uint8
	tried         bool
	again         time.Time
	stalled       bool
}

var _ provider.QueuePair = (*pair)(nil)

func (p *pair) Connect(remote netip.AddrPort, proposal *provider.Proposal) (netip.AddrPort, error) {
	if remote.Addr().Is4() != p.device.addr.Is4() {
		return netip.AddrPort{}, verbs.ErrInvalidAddress
	}
	n := p.device.network
	p.phase, p.remote, p.retries = phaseConnecting, remote, proposal.RNRRetryCount
	p.serves = proposal.ResponderResources
	n.dial(p, remote, n.carry(proposal, p.device.attributes.MaxRequestData))
	return p.local, nil
}

func (p *pair) Contacted() bool { return p.contacted }

// RequestsPosted sends the requests that may start.
func (p *pair) RequestsPosted() {
	if p.phase != phaseOpen && p.phase != phaseClosing || p.silent {
		return
	}
	for r := p.config.Sends.Next(); r != nil; r = p.config.Sends.Next() {
		p.start(r)
	}
	if p.draining && p.quiet > 0 {
		// The peer acknowledges this empty Write, and thereby completes the last requests, which were not signalled.
		p.quiet = 0
		p.peer.device.send(frame{kind: frameWrite, op: provider.OpWrite, to: p.peer, number: p.last, signalled: true})
	}
}

func (p *pair) Drain() {
	p.draining = true
	p.RequestsPosted()
}

func (p *pair) start(r *provider.Request) {
	f := frame{
		to: p.peer, op: r.Op, flags: r.Flags, address: r.RemoteAddress, key: r.RKey, length: r.Length,
		number: r.Number, signalled: p.signals(r), immediate: r.Immediate, compare: r.Compare, swap: r.Swap,
	}
	switch {
	case r.Op.Atomic():
		f.kind = frameAtomic
	case r.Op == provider.OpRead:
		f.kind = frameRead
	case r.Op == provider.OpWrite:
		f.kind = frameWrite
	default:
		f.kind = frameSend
		if r.Flags&provider.FlagInvalidate != 0 {
			f.key = r.Invalidate
		}
	}
	if r.Op.Reads() {
		p.reads++
		f.underWay = p.reads
	} else {
		f.data = make([]byte, 0, r.Length)
		for i := range r.Segments {
			f.data = append(f.data, r.Segments[i].Data...)
		}
	}
	p.peer.device.send(f)
	if p.device.network.style == StyleIWARP && !r.Op.Reads() {
		p.config.Sends.Done(r)
	}
}

// signals reports whether the peer has to acknowledge a request. The peer acknowledges requests
// whose completion the consumer wants. It acknowledges all Reads and atomics by its answers. It
// also acknowledges some of the other requests, so that the send queue has room again. With
// StyleIWARP it acknowledges no Send or Write.
func (p *pair) signals(r *provider.Request) bool {
	if p.device.network.style == StyleIWARP {
		return false
	}
	p.last = r.Number
	p.quiet++
	if r.Flags&provider.FlagUnsignalled != 0 && !r.Op.Reads() && 2*p.quiet < p.config.Attributes.MaxRequests {
		return false
	}
	p.quiet = 0
	return true
}

// finished completes a request and, with StyleInfiniBand, all requests before it.
func (p *pair) finished(number uint64) {
	if p.device.network.style == StyleInfiniBand {
		p.config.Sends.DoneBefore(number + 1)
	} else {
		p.config.Sends.Done(p.config.Sends.At(number))
	}
	p.RequestsPosted()
}

// failed reports that the peer could not carry out a request, and ends the connection. With
// StyleIWARP, failed reports only Reads and atomics, because a Send or Write has already completed
// when it was sent.
func (p *pair) failed(f *frame) {
	infiniBand := p.device.network.style == StyleInfiniBand
	if infiniBand {
		p.config.Sends.DoneBefore(f.number)
	}
	if infiniBand || f.op.Reads() {
		p.config.Sends.Fail(p.config.Sends.At(f.number), f.status)
	}
	p.broken(fmt.Errorf("peer: %v", f.status))
}

// ReceivesPosted takes all posted receives and retries the held messages.
func (p *pair) ReceivesPosted() {
	for r := p.config.Receives.Next(); r != nil; r = p.config.Receives.Next() {
		p.posted = append(p.posted, r)
	}
	p.resume()
}

func (p *pair) Disconnect() {
	p.phase = phaseClosing
	p.peer.device.send(frame{kind: frameBye, to: p.peer})
	if p.peer.device.gone() {
		p.device.send(frame{kind: frameBroken, to: p})
	}
}

func (p *pair) Abort() {
	if p.phase >= phaseAccepting && p.phase < phaseDead {
		p.peer.device.send(frame{kind: frameBroken, to: p.peer})
	}
	p.die()
}

func (p *pair) Close() { p.Abort() }

// die ends the pair: it discards the held frames and the receives, and frees the port.
func (p *pair) die() {
	p.phase, p.held, p.posted = phaseDead, nil, nil
	n := p.device.network
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.pairs[p.local] == p {
		delete(n.pairs, p.local)
	}
}

// broken ends the connection and reports err to the consumer. It is called when this side detects a failure, and
// when a frame of the peer reports one.
func (p *pair) broken(err error) {
	p.die()
	p.config.Upcalls.Broken(err)
}
