package kernel

import (
	"errors"
	"fmt"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/uverbs"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// opcodes maps the operations of package provider to the device's opcodes for requests without
// flags.
var opcodes = [...]uverbs.Opcode{
	provider.OpSend: uverbs.OpSend, provider.OpWrite: uverbs.OpWrite, provider.OpRead: uverbs.OpRead,
	provider.OpFetchAdd: uverbs.OpFetchAdd, provider.OpCompareSwap: uverbs.OpCompareSwap,
}

// RequestsPosted implements provider.QueuePair. It posts all waiting requests to the device, in lists of at most
// postMost requests, and rings the doorbell once for each list. When a request cannot be posted, no later request is
// posted, because the peer would get a message without the messages before it.
func (p *queuePair) RequestsPosted() {
	d := p.device
	for !p.failed && !p.ending && !p.isQuiet {
		n := 0
		for n < postMost {
			r := p.config.Sends.Next()
			if r == nil {
				break
			}
			if err := p.translate(n, r); err != nil {
				p.start(n)
				p.refuse(r, err)
				return
			}
			n++
		}
		p.start(n)
		clear(d.segments[:min(n*d.attributes.MaxSegments, len(d.segments))])
		if n < postMost {
			return
		}
	}
}

// translate writes a request to the n-th element of the device's list of sends.
func (p *queuePair) translate(n int, r *provider.Request) error {
	d := p.device
	s := &d.sends[n]
	*s = uverbs.SendRequest{
		ID: p.generation | r.Number&numberMask, Op: opcodes[r.Op], Flags: p.signals.flagsOf(r),
		RemoteAddress: r.RemoteAddress, RKey: r.RKey, Compare: r.Compare, Swap: r.Swap,
	}
	if r.Op == provider.OpFetchAdd {
		s.Compare = r.Swap
	}
	list := d.segments[n*d.attributes.MaxSegments:][:0:d.attributes.MaxSegments]
	for i := range r.Segments {
		list = append(list, uverbs.Segment(r.Segments[i]))
	}
	s.Segments = list
	if r.Flags&provider.FlagSolicited != 0 {
		s.Flags |= uverbs.FlagSolicited
	}
	switch {
	case r.Flags&provider.FlagInvalidate != 0:
		s.Op, s.Invalidate = uverbs.OpSendInvalidate, r.Invalidate
	case r.Flags&provider.FlagImmediate != 0 && r.Op == provider.OpSend:
		s.Op, s.Immediate = uverbs.OpSendImmediate, r.Immediate
	case r.Flags&provider.FlagImmediate != 0:
		s.Op, s.Immediate = uverbs.OpWriteImmediate, r.Immediate
	}
	if r.Flags&provider.FlagInline == 0 {
		return nil
	}
	if s.Op == uverbs.OpSendInvalidate { // siw has no room for inline data in a Send with Invalidate
		return p.copySpare(s, r)
	}
	s.Flags |= uverbs.FlagInline
	return nil
}

// start posts the first n elements of the device's list of sends.
func (p *queuePair) start(n int) {
	if n == 0 {
		return
	}
	posted, err := p.pair.PostSends(p.device.sends[:n])
	if posted < n && (errors.Is(err, uverbs.ErrFull) || errors.Is(err, uverbs.ErrRequest)) {
		r := p.config.Sends.At(p.device.sends[posted].ID & numberMask)
		p.refuse(r, err)
		return
	}
	if err != nil {
		p.end(err)
	}
}

// refuse fails a request that cannot be posted to the device, and ends the connection.
func (p *queuePair) refuse(r *provider.Request, err error) {
	p.config.Sends.Fail(r, provider.StatusLocalProtection)
	p.end(fmt.Errorf("request %d: %w", r.Number, err))
}

// end makes the next Progress break the connection. Another goroutine may be in Sleep, so end wakes it.
func (p *queuePair) end(err error) {
	if p.ending || p.failed {
		return
	}
	p.ending, p.failure = true, err
	p.device.broken = append(p.device.broken, p)
	p.device.wake()
}

// ReceivesPosted implements provider.QueuePair.
func (p *queuePair) ReceivesPosted() {
	if p.failed || p.shared != nil {
		return
	}
	d := p.device
	for {
		n := 0
		for ; n < postMost; n++ {
			r := p.config.Receives.Next()
			if r == nil {
				break
			}
			d.translateReceive(n, receiveBit|p.generation|r.Number&numberMask, r)
		}
		if n == 0 {
			return
		}
		if posted, err := p.pair.PostReceives(d.receives[:n]); posted < n {
			p.end(fmt.Errorf("receive %d: %w", d.receives[posted].ID&numberMask, err))
			return
		}
	}
}

// translateReceive writes a receive to the n-th element of the device's list of receives.
func (d *device) translateReceive(n int, id uint64, r *provider.Receive) {
	list := d.segments[n*d.attributes.MaxSegments:][:0:d.attributes.MaxSegments]
	for i := range r.Segments {
		list = append(list, uverbs.Segment(r.Segments[i]))
	}
	d.receives[n] = uverbs.ReceiveRequest{ID: id, Segments: list}
}

// spare is registered memory with a slot for each request that the send queue can hold. size is the
// length of a slot in bytes.
type spare struct {
	data   []byte
	size   int
	domain *domain
	keys   provider.Registered
}

// copySpare copies the bytes of an inline request to the spare memory, and makes the request refer
// to this memory.
func (p *queuePair) copySpare(s *uverbs.SendRequest, r *provider.Request) error {
	if p.spare == nil {
		size := max(p.config.Attributes.MaxInline, 1)
		m := &spare{data: make([]byte, p.sends*size), size: size, domain: p.domain}
		var err error
		if m.keys, err = p.domain.Register(m.data, 0); err != nil {
			return err
		}
		p.spare = m
	}
	m := p.spare
	at := int(r.Number%uint64(p.sends)) * m.size
	b := m.data[at : at+r.Length]
	copy(b, r.Segments[0].Data)
	s.Segments[0] = uverbs.Segment{Data: b, LKey: m.keys.LKey}
	return nil
}

func (m *spare) close() {
	if m != nil {
		_ = m.domain.Deregister(m.keys) // an error means that the device is gone
	}
}
