package simulate

import (
	"hash/crc32"
	"math/rand/v2"
	"time"

	"github.com/gorun-hpc/gorun/transport"
)

// pair is the lane from one rank to another.
type pair struct {
	number   int
	from, to *node
	random   *rand.Rand
	turns    uint64 // number of events so far

	asked, stands bool          // asked: the connection was requested; stands: it is established
	broken        time.Duration // until this time the connection is lost: nothing is sent or arrives
	last          time.Duration // the time at which the last message arrives

	flight  []message // messages in flight, in order
	arrived []message // messages that have arrived and that the next polls deliver, in order
	gone    bool      // the receiver has reported the loss of the sender
}

// message is one message in flight.
type message struct {
	header  transport.Header
	payload []byte
}

// back returns the lane of the opposite direction.
func (p *pair) back() *pair { return p.from.in.pair(p.to.rank, p.from.rank) }

// delay draws the time that a message or request takes on this lane.
func (p *pair) delay() time.Duration {
	c := &p.from.net.conditions
	d := c.Latency + Within(p.random, c.Jitter)
	if c.StallRate > 0 && Chance(p.random, c.StallRate) {
		d += Within(p.random, c.Stall)
	}
	return d
}

// disturb breaks the connection in both directions, with the probability BreakRate.
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

// connect begins to establish the connection if this has not begun already.
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

// deliver moves the oldest message in flight to the receiver. While the connection is lost, deliver moves no
// message and schedules itself again.
func (p *pair) deliver() {
	net := p.from.net
	if net.now() < p.broken {
		p.last = max(p.last+1, p.broken+p.delay())
		net.schedule(p, p.last, p.deliver)
		return
	}
	if len(p.flight) == 0 {
		return // the messages were lost with their sender
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

// spoil applies a flaw to the message that has just arrived.
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
