package verbstest

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// handle processes a frame at the device that has received it.
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
		if len(p.held) > 0 && f.kind >= frameSend && f.kind <= frameAtomic {
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

// answer processes the answer to the request of an active side.
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

// confirm processes the frame that ends the handshake of a passive side.
func (f *frame) confirm(p *pair) {
	switch f.kind {
	case frameGone, frameBroken:
		p.die()
		p.config.Upcalls.Failed(provider.FailureRefused, nil, errReset)
	case frameReady:
		p.phase = phaseOpen
		p.silent = p.device.attributes.ActiveSpeaksFirst
		// The answer to the request has already determined the depths.
		if err := p.config.Upcalls.Established(nil, p.local, p.remote); err != nil {
			p.Abort()
		}
	default:
	}
}

// deliver processes a frame of an established connection.
func (f *frame) deliver(p *pair) {
	switch f.kind {
	case frameSend, frameWrite, frameRead, frameAtomic:
		f.execute(p)
	case frameAnswer:
		data := f.data
		r := p.config.Sends.At(f.number)
		for i := range r.Segments {
			data = data[copy(r.Segments[i].Data, data):]
		}
		p.reads--
		p.finished(f.number)
	case frameAck:
		p.finished(f.number)
	case frameNak:
		p.failed(f)
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

// execute carries out a request of the peer. After the first request, a passive side that had to
// be silent may send.
func (f *frame) execute(p *pair) {
	done := false
	switch f.kind {
	case frameSend:
		done = f.receive(p)
	case frameWrite:
		done = f.write(p)
	default:
		done = f.serve(p)
	}
	if done && p.silent {
		p.silent = false
		p.RequestsPosted()
	}
}

// write carries out a Write. It returns false if the Write has to wait for a receive or has ended
// the connection.
func (f *frame) write(p *pair) bool {
	immediate := f.flags&verbs.FlagImmediate != 0
	if immediate && !f.finds(p) {
		return false
	}
	to, ok := p.device.reach(p.domain, f.key, f.address, len(f.data), verbs.AccessRemoteWrite)
	if !ok {
		f.refuse(p, verbs.StatusRemoteAccess)
		return false
	}
	copy(to, f.data)
	if immediate {
		p.config.Receives.Done(p.take(), provider.Arrival{
			Length: len(f.data), Flags: f.flags & arrivalFlags, Immediate: f.immediate, Written: true,
		})
	}
	f.acknowledge(p)
	return true
}

// arrivalFlags contains those flags of a request that the receiver's consumer sees.
const arrivalFlags = verbs.FlagSolicited | verbs.FlagInvalidate | verbs.FlagImmediate

// serve carries out a Read or an atomic and sends the answer. It returns false if the request has
// ended the connection.
func (f *frame) serve(p *pair) bool {
	need := verbs.AccessRemoteRead
	if f.kind == frameAtomic {
		need = verbs.AccessRemoteAtomic
	}
	from, ok := p.device.reach(p.domain, f.key, f.address, f.length, need)
	if !ok {
		f.refuse(p, verbs.StatusRemoteAccess)
		return false
	}
	if f.underWay > p.serves {
		f.refuse(p, verbs.StatusRemoteOperation)
		return false
	}
	p.peer.device.send(frame{kind: frameAnswer, to: p.peer, number: f.number, data: append([]byte{}, from...)})
	if f.kind == frameAtomic {
		old := binary.NativeEndian.Uint64(from)
		switch {
		case f.op == verbs.OpFetchAdd:
			binary.NativeEndian.PutUint64(from, old+f.swap)
		case old == f.compare:
			binary.NativeEndian.PutUint64(from, f.swap)
		}
	}
	return true
}

// acknowledge tells the peer that its request is done, if the request is signalled.
func (f *frame) acknowledge(p *pair) {
	if f.signalled {
		p.peer.device.send(frame{kind: frameAck, to: p.peer, number: f.number})
	}
}

// refuse tells the peer with which status its request has failed, and ends the connection.
func (f *frame) refuse(p *pair, s verbs.Status) {
	p.peer.device.send(frame{kind: frameNak, to: p.peer, op: f.op, number: f.number, status: s})
	p.broken(fmt.Errorf("request of the peer: %v", s))
}

// finds reports whether a receive is available for the frame. If no receive is available, there are
// two cases. If the adapter waits for receives (WaitsForReceive), the frame is held until a receive
// is posted. Otherwise the connection ends.
func (f *frame) finds(p *pair) bool {
	switch {
	case p.available() > 0:
		return true
	case p.device.attributes.WaitsForReceive:
		p.held = append([]frame{*f}, p.held...)
		p.starve()
	default:
		p.peer.device.send(frame{kind: frameBroken, to: p.peer})
		p.broken(errNoReceive)
	}
	return false
}

// receive puts a message into a receive. It returns false if the message has to wait for a receive
// or has ended the connection.
func (f *frame) receive(p *pair) bool {
	if !f.finds(p) {
		return false
	}
	r := p.take()
	a := provider.Arrival{Length: len(f.data), Flags: f.flags & arrivalFlags, Immediate: f.immediate}
	switch {
	case len(f.data) > r.Length:
		p.config.Receives.Fail(r, verbs.StatusLocalLength)
		f.refuse(p, verbs.StatusRemoteOperation)
		return false
	case f.flags&verbs.FlagInvalidate != 0:
		if !p.device.revoke(p.domain, f.key) {
			p.config.Receives.Fail(r, verbs.StatusFlushed)
			f.refuse(p, verbs.StatusRemoteInvalidate)
			return false
		}
		a.Invalidated = f.key
	}
	data := f.data
	for i := range r.Segments {
		data = data[copy(r.Segments[i].Data, data):]
	}
	p.config.Receives.Done(r, a)
	f.acknowledge(p)
	return true
}

// resume retries the held frames in order, and returns how many it has processed.
func (p *pair) resume() int {
	n := 0
	for len(p.held) > 0 {
		if p.available() == 0 && (p.held[0].kind == frameSend || p.held[0].flags&verbs.FlagImmediate != 0) {
			return n + p.starve()
		}
		f := p.held[0]
		p.held, p.tried = p.held[1:], false
		f.execute(p)
		n++
	}
	return n
}

// starve counts a failed try of the first held message, for which there is no receive, and
// schedules the next try. If no retry is left, the message fails, the connection ends, and starve
// returns 1. Otherwise it returns 0.
func (p *pair) starve() int {
	if !p.tried {
		p.tried, p.left = true, p.retries
	}
	if p.left == 0 {
		p.held[0].refuse(p, verbs.StatusReceiverNotReady)
		return 1
	}
	if p.left != retriesForever {
		p.left--
	}
	p.again = time.Now().Add(p.device.attributes.MinRNRTimer)
	p.stall()
	return 0
}

// stall adds the queue pair to device.stalled, the queue pairs whose messages the device retries.
func (p *pair) stall() {
	if !p.stalled {
		p.stalled = true
		p.device.stalled = append(p.device.stalled, p)
		p.device.Wake() // a running Sleep was started without the time of this retry
	}
}
