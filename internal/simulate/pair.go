package simulate

import (
	"hash/crc32"
	"math/rand/v2"
	"time"

	"github.com/gorun-hpc/gorun/transport"
)

// pair is the way from one rank to another: an ordered lane.
type pair struct {
	number   int
	from, to *node
	random   *rand.Rand
	turns    uint64 // of events

	asked, stands bool          // the connection
	broken        time.Duration // until when nothing leaves or arrives
	last          time.Duration // when the last message is to arrive

	flight  []message // sent, in order
	arrived []message // for the next polls, in order
	gone    bool      // the receiver has given the sender up
}

// message is one message under way.
type message struct {
	header  transport.Header
	payload []byte
}

// back is the opposite direction.
func (p *pair) back() *pair { return p.from.in.pair(p.to.rank, p.from.rank) }

// delay draws how long something takes on this way.
func (p *pair) delay() time.Duration {
	c := &p.from.net.conditions
	d := c.Latency + Within(p.random, c.Jitter)
	if c.StallRate > 0 && Chance(p.random, c.StallRate) {
		d += Within(p.random, c.Stall)
	}
	return d
}

// disturb may break the connection of both directions.
func (p *pair) disturb() {
	net := p.from.net
	c := &net.conditions
	if c.BreakRate == 0 || !Chance(p.random, c.BreakRate) {
		return
	}
	p.broken = net.now() + 1 + Within(p.random, c.Outage)
	p.back().broken = p.broken
	net.record.add(net.now(), "%d-%d lost until %v", p.from.rank, p.to.rank, p.broken)
}

// connect begins to make the connection.
func (p *pair) connect() {
	net := p.from.net
	if p.asked {
		return
	}
	p.asked = true
	if p.stands = net.conditions.Connect == 0; p.stands {
		return
	}
	net.schedule(p, net.now()+1+Within(p.random, net.conditions.Connect), func() {
		p.stands = true
		net.record.add(net.now(), "%d-%d connected", p.from.rank, p.to.rank)
		p.from.connecting--
		p.from.ring()
	})
	p.from.connecting++
}

// room reports whether the lane takes one more message.
func (p *pair) room() bool {
	return len(p.flight)+len(p.arrived) < p.from.net.conditions.Lane
}

// send puts a message into the lane.
func (p *pair) send(h transport.Header, payload []byte) {
	net := p.from.net
	p.disturb()
	p.flight = append(p.flight, message{h, append([]byte(nil), payload...)})
	p.last = max(p.last+1, net.now()+p.delay())
	net.schedule(p, p.last, p.deliver)
}

// deliver brings the oldest message to its receiver, or waits for the connection.
func (p *pair) deliver() {
	net := p.from.net
	if net.now() < p.broken {
		p.last = max(p.last+1, p.broken+p.delay())
		net.schedule(p, p.last, p.deliver)
		return
	}
	if len(p.flight) == 0 {
		return // it was lost with its sender
	}
	m := p.flight[0]
	p.flight = p.flight[1:]
	if p.gone || p.to.dead || p.to.closed {
		net.record.add(net.now(), "%d>%d dropped", p.from.rank, p.to.rank)
		return
	}
	net.record.add(net.now(), "%d>%d %x %x %x, %d bytes %08x", p.from.rank, p.to.rank, m.header.A, m.header.B, m.header.C, len(m.payload), crc32.ChecksumIEEE(m.payload))
	p.arrived = append(p.arrived, m)
	p.to.waiting++
	if flaw := net.conditions.Flaw; flaw != Sound && Chance(p.random, flawRate) {
		p.spoil(flaw)
	}
	p.to.ring()
}

// spoil breaks the contract with the message that has just arrived.
func (p *pair) spoil(flaw Flaw) {
	last := len(p.arrived) - 1
	switch m := p.arrived[last]; {
	case flaw == Loses:
		p.arrived = p.arrived[:last]
		p.to.waiting--
	case flaw == Doubles:
		p.arrived = append(p.arrived, message{m.header, append([]byte(nil), m.payload...)})
		p.to.waiting++
	case flaw == Swaps && len(p.flight) > 0:
		p.arrived[last], p.flight[0] = p.flight[0], m
	case flaw == Deaf:
		p.to.armed = false
	}
}
