package program

import (
	"fmt"
	"math/rand/v2"

	"github.com/gorun-hpc/gorun/internal/simulate"
)

// class is the way in which messages of a plan are received. The classes have separate messages, so
// that no wildcard receive matches a message of another class.
type class int

const (
	named   class = iota // source and tag, on the communicator of the World
	tagged               // AnySource and the tag, on the communicator of the World
	sourced              // the source and AnyTag
	wild                 // AnySource and AnyTag
	mixed                // one of these ways at random; all messages to a rank have the same source and tag
	classes
)

// taggedTags is the first tag of class tagged.
const taggedTags = 100

// parcel is one message of a plan.
type parcel struct {
	from, to int
	class    class
	tag      int
	size     int
	number   uint32 // different for each message
}

// plan has the messages that the ranks exchange. It is the same at all ranks.
type plan struct {
	parcels []parcel
	longest int
}

// newPlan draws the plan of an exchange of messages.
func newPlan(r *rand.Rand, ranks, messages int, c *simulate.Conditions) *plan {
	p := &plan{}
	// With few pairs, classes and tags, the program detects messages in the wrong order. With many, it
	// detects wrong matches.
	senders, tags := simulate.Pick(r, 1, ranks, ranks), simulate.Pick(r, 1, 3)
	some := simulate.Pick(r, []class{named, tagged, sourced, wild, mixed}, []class{class(r.IntN(int(classes)))})
	for i := range messages {
		m := parcel{
			from: r.IntN(senders), to: r.IntN(ranks), class: simulate.Pick(r, some...), tag: r.IntN(tags),
			size: drawSize(r, c), number: uint32(i),
		}
		switch m.class {
		case tagged:
			m.tag += taggedTags
		case mixed:
			m.from, m.tag = m.to%senders, 0
		default:
		}
		p.longest = max(p.longest, m.size)
		p.parcels = append(p.parcels, m)
	}
	return p
}

// drawSize draws the size of a message in bytes: often short, near a limit of the protocols, or 0.
func drawSize(r *rand.Rand, c *simulate.Conditions) int {
	switch r.IntN(8) {
	case 0:
		return max(0, c.EagerBest+r.IntN(3)-1)
	case 1:
		return max(0, c.MaxEager+r.IntN(3)-1)
	case 2:
		return r.IntN(100 << 10)
	case 3:
		return 0
	default:
		return r.IntN(128)
	}
}

// of returns the messages for which the function want returns true, in order.
func (p *plan) of(want func(*parcel) bool) []*parcel {
	var list []*parcel
	for i := range p.parcels {
		if want(&p.parcels[i]) {
			list = append(list, &p.parcels[i])
		}
	}
	return list
}

// fill writes the payload of the message into b, and returns b.
func (m *parcel) fill(b []byte) []byte {
	for i := range b {
		b[i] = m.at(i)
	}
	return b
}

// at returns byte i of the message.
func (m *parcel) at(i int) byte { return byte((uint32(i) + m.number*2654435761) * 2246822519 >> 21) }

// check returns an error if b is not the payload of the message.
func (m *parcel) check(b []byte) error {
	if len(b) != m.size {
		return fmt.Errorf("%v came with %d bytes", m, len(b))
	}
	for i := range b {
		if b[i] != m.at(i) {
			return fmt.Errorf("%v: byte %d is %#x, not %#x", m, i, b[i], m.at(i))
		}
	}
	return nil
}

// String implements fmt.Stringer.
func (m *parcel) String() string {
	return fmt.Sprintf("message %d (%d bytes, rank %d to rank %d, class %d, tag %d)", m.number, m.size, m.from, m.to, m.class, m.tag)
}
