package verbstest

import (
	"fmt"
	"time"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// handle does what a frame says at the device it has reached.
func (f *frame) handle(d *device) {
	if f.kind == frameRequest {
		f.request(d)
		return
	}
	p := f.to
	switch p.phase {
	case phaseConnecting:
		f.answer(p)
	case phaseAccepting:
		f.confirm(p)
	case phaseOpen, phaseClosing:
		if len(p.held) > 0 && f.kind >= frameSend && f.kind <= frameRead {
			p.held = append(p.held, *f)
			return
		}
		f.deliver(p)
	default:
		if f.kind == frameAccept {
			f.from.device.send(frame{kind: frameGone, to: f.from})
		}
	}
}

// answer ends the attempt of an active side.
func (f *frame) answer(p *pair) {
	switch f.kind {
	case frameFailed:
		p.die()
		p.config.Upcalls.Failed(f.why, f.proposal.PrivateData, f.err)
	case frameAccept:
		p.peer, p.phase = f.from, phaseOpen
		if err := p.config.Upcalls.Established(&f.proposal, p.local, p.remote); err != nil {
			p.die()
			f.from.device.send(frame{kind: frameGone, to: f.from})
			return
		}
		f.from.device.send(frame{kind: frameReady, to: f.from})
	default:
	}
}

// confirm ends the handshake of a passive side.
func (f *frame) confirm(p *pair) {
	switch f.kind {
	case frameGone, frameBroken:
		p.die()
		p.config.Upcalls.Failed(verbs.FailureRefused, nil, errReset)
	case frameReady:
		p.phase = phaseOpen
		p.silent = p.device.attributes.ActiveSpeaksFirst
		// The depths were agreed when the request was answered.
		if err := p.config.Upcalls.Established(nil, p.local, p.remote); err != nil {
			p.Abort()
		}
	default:
	}
}

// deliver does what a frame of an established connection says.
func (f *frame) deliver(p *pair) {
	switch f.kind {
	case frameSend, frameWrite, frameRead:
		f.execute(p)
	case frameAnswer:
		r := p.reads[0]
		p.reads = p.reads[1:]
		data := f.data
		for i := range r.Segments {
			data = data[copy(r.Segments[i].Data, data):]
		}
		p.config.Sends.Done(r)
		p.RequestsPosted()
	case frameAck:
		r := p.unacknowledged[0]
		p.unacknowledged = p.unacknowledged[1:]
		p.config.Sends.Done(r)
	case frameNak:
		if f.op == verbs.OpRead {
			p.config.Sends.Fail(p.reads[0], f.status)
		} else if len(p.unacknowledged) > 0 {
			p.config.Sends.Fail(p.unacknowledged[0], f.status)
		}
		p.broken(fmt.Errorf("peer: %v", f.status))
	case frameBye:
		p.peer.device.send(frame{kind: frameByeSeen, to: p.peer})
		p.die()
		p.config.Upcalls.Disconnected()
	case frameByeSeen:
		p.die()
		p.config.Upcalls.Disconnected()
	case frameCut:
		p.peer.device.send(frame{kind: frameBroken, to: p.peer})
		p.broken(errReset)
	case frameBroken:
		p.broken(errReset)
	default:
	}
}

// execute does a request of the peer. The first one lets a passive side speak.
func (f *frame) execute(p *pair) {
	switch f.kind {
	case frameSend:
		if !f.receive(p) {
			return
		}
	case frameWrite:
		to, ok := p.device.reach(p.config.Domain, f.key, f.address, len(f.data), verbs.AccessRemoteWrite)
		if !ok {
			f.refuse(p, verbs.OpWrite, verbs.StatusRemoteAccess)
			return
		}
		copy(to, f.data)
		p.acknowledge()
	default:
		from, ok := p.device.reach(p.config.Domain, f.key, f.address, f.length, verbs.AccessRemoteRead)
		if !ok {
			f.refuse(p, verbs.OpRead, verbs.StatusRemoteAccess)
			return
		}
		if f.underWay > p.serves {
			f.refuse(p, verbs.OpRead, verbs.StatusRemoteOperation)
			return
		}
		p.peer.device.send(frame{kind: frameAnswer, to: p.peer, data: append([]byte{}, from...)})
	}
	if p.silent {
		p.silent = false
		p.RequestsPosted()
	}
}

// acknowledge tells the peer that its request is done.
func (p *pair) acknowledge() {
	if p.device.network.style == StyleInfiniBand {
		p.peer.device.send(frame{kind: frameAck, to: p.peer})
	}
}

// refuse tells the peer why its request is not done, and ends the connection.
func (f *frame) refuse(p *pair, op verbs.Opcode, s verbs.Status) {
	p.peer.device.send(frame{kind: frameNak, to: p.peer, op: op, status: s})
	p.broken(fmt.Errorf("request of the peer: %v", s))
}

// receive puts a message into a receive, and reports whether the connection goes on
// and the message is dealt with.
func (f *frame) receive(p *pair) bool {
	queue := p.config.Receives
	r := queue.Next()
	switch {
	case r == nil && p.device.attributes.WaitsForReceive:
		p.held = append([]frame{*f}, p.held...)
		p.starve()
		return false
	case r == nil:
		p.peer.device.send(frame{kind: frameBroken, to: p.peer})
		p.broken(errNoReceive)
		return false
	case len(f.data) > r.Length:
		queue.Fail(r, verbs.StatusLocalLength)
		f.refuse(p, verbs.OpSend, verbs.StatusRemoteOperation)
		return false
	case f.flags&verbs.FlagInvalidate != 0 && !p.device.revoke(p.config.Domain, f.key):
		f.refuse(p, verbs.OpSend, verbs.StatusRemoteInvalidate)
		return false
	}
	data := f.data
	for i := range r.Segments {
		data = data[copy(r.Segments[i].Data, data):]
	}
	var invalidated uint32
	if f.flags&verbs.FlagInvalidate != 0 {
		invalidated = f.key
	}
	queue.Done(r, len(f.data), f.flags&(verbs.FlagSolicited|verbs.FlagInvalidate), invalidated)
	p.acknowledge()
	return true
}

// resume tries frames that are held again and returns how many are done.
func (p *pair) resume() int {
	n := 0
	for len(p.held) > 0 {
		if p.config.Receives.Len() == 0 && p.held[0].kind == frameSend {
			return n + p.starve()
		}
		f := p.held[0]
		p.held, p.tried = p.held[1:], false
		f.execute(p)
		n++
	}
	return n
}

// starve counts a try of the first message that is held; after the last one it fails.
func (p *pair) starve() int {
	if !p.tried {
		p.tried, p.left = true, p.retries
	}
	if p.left == 0 {
		p.held[0].refuse(p, verbs.OpSend, verbs.StatusReceiverNotReady)
		return 1
	}
	if p.left != retriesForever {
		p.left--
	}
	p.again = time.Now().Add(p.device.attributes.MinRNRTimer)
	p.stall()
	return 0
}

// stall has the device try again.
func (p *pair) stall() {
	if !p.stalled {
		p.stalled = true
		p.device.stalled = append(p.device.stalled, p)
		p.device.Wake() // a Sleep that does not know of it
	}
}
