package verbstest

import (
	"net/netip"
	"time"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// phase is how far a pair has come.
type phase uint8

const (
	phaseIdle phase = iota
	phaseConnecting
	phaseAccepting
	phaseOpen
	phaseClosing
	phaseDead
)

// retriesForever is the retry count that never ends.
const retriesForever = 7

// pair is a queue pair.
type pair struct {
	device        *device
	config        verbs.QueuePairConfig
	phase         phase
	peer          *pair
	local, remote netip.AddrPort
	contacted     bool
	// silent says that this is a passive side whose active side has not spoken.
	silent bool
	// unacknowledged are Sends and Writes, reads are Reads, both in order.
	unacknowledged, reads []*verbs.Request
	// serves is how many Reads of the peer may be under way.
	serves int
	// held are frames that wait for a receive, the first of them. It has been tried, may
	// be tried left times more, and is at the time again. retries is how often each may.
	held          []frame
	retries, left uint8
	tried         bool
	again         time.Time
	stalled       bool
}

var _ verbs.QueuePair = (*pair)(nil)

func (p *pair) Connect(remote netip.AddrPort, proposal *verbs.Proposal) (netip.AddrPort, error) {
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

// RequestsPosted sends what may go.
func (p *pair) RequestsPosted() {
	if p.phase != phaseOpen && p.phase != phaseClosing || p.silent {
		return
	}
	for r := p.config.Sends.Next(); r != nil; r = p.config.Sends.Next() {
		p.start(r)
	}
}

func (p *pair) start(r *verbs.Request) {
	f := frame{to: p.peer, flags: r.Flags, address: r.RemoteAddress, key: r.RKey, length: r.Length}
	switch r.Op {
	case verbs.OpRead:
		f.kind = frameRead
		p.reads = append(p.reads, r)
		f.underWay = len(p.reads)
		p.peer.device.send(f)
		return
	case verbs.OpWrite:
		f.kind = frameWrite
	default:
		f.kind, f.key = frameSend, r.Invalidate
	}
	f.data = make([]byte, 0, r.Length)
	for i := range r.Segments {
		f.data = append(f.data, r.Segments[i].Data...)
	}
	p.peer.device.send(f)
	if p.device.network.style == StyleInfiniBand {
		p.unacknowledged = append(p.unacknowledged, r)
	} else {
		p.config.Sends.Done(r)
	}
}

// ReceivesPosted lets a message that waits have its receive.
func (p *pair) ReceivesPosted() { p.resume() }

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

// die forgets everything.
func (p *pair) die() {
	p.phase, p.held, p.reads, p.unacknowledged = phaseDead, nil, nil, nil
	n := p.device.network
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.pairs[p.local] == p {
		delete(n.pairs, p.local)
	}
}

// broken ends the connection for a reason found here or told by the peer.
func (p *pair) broken(err error) {
	p.die()
	p.config.Upcalls.Broken(err)
}
