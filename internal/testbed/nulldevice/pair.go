package nulldevice

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// pair is a queue pair.
type pair struct {
	device        *device
	config        provider.QueuePairConfig
	domain        *domain
	phase         phase
	peer          *pair
	local, remote netip.AddrPort
	contacted     bool
	// If stopped is true, no more requests are executed. If ended is true, nothing more is reported.
	stopped, ended bool
	// quiet counts the executed requests since the last completion. last is the number of the
	// request that was executed last.
	quiet int
	last  uint64

	// receives holds the posted receives of the endpoint, or of its shared receive queue if shared is true.
	// While receiving is true, requests of the peer are executed and may consume receives. The mutex wire of
	// the device guards receives and receiving.
	receives  *receives
	shared    bool
	receiving bool
}

var _ provider.QueuePair = (*pair)(nil)

// NewQueuePair implements provider.Device.
func (d *device) NewQueuePair(c provider.QueuePairConfig) (provider.QueuePair, provider.EndpointAttributes, error) {
	p := &pair{device: d, config: c, domain: c.Domain.(*domain)}
	if p.receives, p.shared = c.Shared.(*receives); !p.shared {
		p.receives = newReceives(d, c.Attributes.MaxReceives)
	}
	return p, c.Attributes, nil
}

// receive sets receiving, which determines whether requests of the peer are executed from now on.
func (p *pair) receive(now bool) {
	p.device.wire.Lock()
	p.receiving = now
	p.device.wire.Unlock()
}

// ReceivesPosted implements provider.QueuePair.
func (p *pair) ReceivesPosted() {
	for r := p.config.Receives.Next(); r != nil; r = p.config.Receives.Next() {
		p.receives.Post(r)
	}
}

// die ends the queue pair. Messages that have arrived and were not reported are flushed.
func (p *pair) die() {
	if p.ended {
		return
	}
	d := p.device
	d.report(p)
	p.phase, p.stopped, p.ended = phaseDead, true, true
	d.wire.Lock()
	p.receiving = false
	var left []event
	kept := d.events[:0]
	for _, e := range d.events {
		if e.pair == p {
			left = append(left, e)
		} else {
			kept = append(kept, e)
		}
	}
	clear(d.events[len(kept):])
	d.events = kept
	d.wire.Unlock()
	for i := range left {
		p.flush(&left[i])
	}
}

// flush reports the receive of a message as flushed, because the queue pair has ended. It reports only
// receives of a shared queue, because package verbs flushes the other receives.
func (p *pair) flush(e *event) {
	if p.shared {
		p.config.Receives.Fail(e.receive, provider.StatusFlushed)
	}
}

// Drain implements provider.QueuePair.
func (p *pair) Drain() {
	p.RequestsPosted()
	if p.quiet > 0 && !p.stopped {
		p.complete()
		p.device.rouse()
	}
}

// complete enqueues a completion of the last executed request. The completion also completes all earlier
// requests.
func (p *pair) complete() {
	p.quiet = 0
	p.device.done = append(p.device.done, completion{p, p.last, p.device.free})
}

// RequestsPosted implements provider.QueuePair. It executes all posted requests.
func (p *pair) RequestsPosted() {
	if p.stopped {
		return
	}
	before := len(p.device.done)
	for r := p.config.Sends.Next(); r != nil; r = p.config.Sends.Next() {
		done, status := p.execute(r)
		if status != provider.StatusSuccess {
			p.refused(r.Number, status)
			return
		}
		if !done {
			p.stopped = true // the peer has ended the connection, and reports the end to this side
			return
		}
		p.last = r.Number
		p.quiet++
		p.device.transfer(r.Length)
		// Only a completion frees entries of the send queue. For this reason, a completion is enqueued even
		// without a signalled request when half of the queue is in use.
		if r.Flags&provider.FlagUnsignalled == 0 || 2*p.quiet >= p.config.Attributes.MaxRequests {
			p.complete()
		}
	}
	if len(p.device.done) > before {
		p.device.rouse()
	}
}

// refused reports the request with the given number as failed with status s, after the completion of all
// earlier requests. It also breaks the connection at both sides.
func (p *pair) refused(number uint64, s provider.Status) {
	p.stopped = true
	p.device.tell(func() {
		if p.ended {
			return
		}
		p.config.Sends.DoneBefore(number)
		p.config.Sends.Fail(p.config.Sends.At(number), s)
		p.broken(fmt.Errorf("peer: %v", s))
	}, nil)
	p.reset()
}

// execute executes a request at the peer. It returns false if the peer's side of the connection has
// ended.
func (p *pair) execute(r *provider.Request) (bool, provider.Status) {
	peer := p.peer
	d := peer.device
	d.wire.Lock()
	done, status := peer.receiving, provider.StatusSuccess
	if done {
		switch r.Op {
		case provider.OpSend:
			status = peer.take(r)
		case provider.OpWrite:
			status = peer.write(r)
		default:
			status = peer.serve(r)
		}
	}
	d.wire.Unlock()
	d.rouse()
	if p.device.carried != nil {
		p.device.carried()
	}
	return done, status
}

// arrivalFlags are the flags of a request that the receiver's Arrival reports.
const arrivalFlags = provider.FlagSolicited | provider.FlagInvalidate | provider.FlagImmediate

// take copies a Send of the peer into the oldest posted receive. The caller holds the mutex wire of the
// device.
func (p *pair) take(r *provider.Request) provider.Status {
	d := p.device
	to := p.receives.take()
	if to == nil {
		return p.starve()
	}
	a := provider.Arrival{Length: r.Length, Flags: r.Flags & arrivalFlags, Immediate: r.Immediate}
	switch {
	case r.Length > to.Length:
		d.push(event{pair: p, receive: to, status: provider.StatusLocalLength})
		return provider.StatusRemoteOperation
	case r.Flags&provider.FlagInvalidate != 0:
		a.Invalidated = r.Invalidate
		if !d.revoke(p.domain, r.Invalidate) {
			d.push(event{pair: p, receive: to, status: provider.StatusFlushed})
			return provider.StatusRemoteInvalidate
		}
	}
	if len(to.Segments) == 1 && len(r.Segments) == 1 {
		copy(to.Segments[0].Data, r.Segments[0].Data)
	} else {
		scatter(to.Segments, r.Segments)
	}
	d.push(event{pair: p, receive: to, arrival: a})
	return provider.StatusSuccess
}

// starve breaks the connection because a message of the peer has found no posted receive. The caller holds
// the mutex wire of the device.
func (p *pair) starve() provider.Status {
	p.receiving = false
	p.device.push(event{run: func() { p.broken(errNoReceive) }})
	return provider.StatusReceiverNotReady
}

// scatter copies the bytes of the segments in the argument from into the segments in the argument to, in
// order.
func scatter(to, from []provider.Segment) {
	i, at := 0, 0
	for _, f := range from {
		for b := f.Data; len(b) > 0 && i < len(to); {
			n := copy(to[i].Data[at:], b)
			b = b[n:]
			if at += n; at == len(to[i].Data) {
				i, at = i+1, 0
			}
		}
	}
}

// write executes an RDMA Write of the peer. The caller holds the mutex wire of the device.
func (p *pair) write(r *provider.Request) provider.Status {
	d := p.device
	data, ok := d.reach(p.domain, r.RKey, r.RemoteAddress, r.Length, provider.AccessRemoteWrite)
	if !ok {
		return provider.StatusRemoteAccess
	}
	var to *provider.Receive
	if r.Flags&provider.FlagImmediate != 0 {
		if to = p.receives.take(); to == nil {
			return p.starve()
		}
	}
	if !d.discard {
		scatter([]provider.Segment{{Data: data}}, r.Segments)
	}
	if to != nil {
		d.push(event{pair: p, receive: to, arrival: provider.Arrival{
			Length: r.Length, Flags: r.Flags & arrivalFlags, Immediate: r.Immediate, Written: true,
		}})
	}
	return provider.StatusSuccess
}

// serve executes an RDMA Read or an atomic operation of the peer. The caller holds the mutex wire of the
// device.
func (p *pair) serve(r *provider.Request) provider.Status {
	d := p.device
	need := provider.AccessRemoteRead
	if r.Op.Atomic() {
		need = provider.AccessRemoteAtomic
	}
	data, ok := d.reach(p.domain, r.RKey, r.RemoteAddress, r.Length, need)
	if !ok {
		return provider.StatusRemoteAccess
	}
	if !d.discard {
		scatter(r.Segments, []provider.Segment{{Data: data}})
	}
	if r.Op.Atomic() {
		old := binary.NativeEndian.Uint64(data)
		switch {
		case r.Op == provider.OpFetchAdd:
			binary.NativeEndian.PutUint64(data, old+r.Swap)
		case old == r.Compare:
			binary.NativeEndian.PutUint64(data, r.Swap)
		}
	}
	return provider.StatusSuccess
}
