package negotiation

import "fmt"

// Policy has the values with which a side negotiates with every peer.
type Policy struct {
	Limits Limits
	// Slot is the size of this side's eager receives in bytes. Features are the features that this
	// side supports.
	Slot     int
	Features Features
	// Rail is the number of this side's adapter.
	Rail uint8
}

// Terms are the values on which two sides have agreed, as seen by one of them. SendCredits of one
// side are the ReceiveCredits of the other side.
type Terms struct {
	// Depths are the depths of this side: ORD is the number of reads and atomics that this side may
	// have in flight. IRD is the number that this side serves at once.
	Depths Depths
	// SendCredits is the number of frames that this side may send before the peer grants more.
	// ReceiveCredits is the number of frames that this side has granted to the peer.
	SendCredits, ReceiveCredits uint16
	// Slot is the size in bytes of the largest eager frame, in both directions.
	Slot int
	// Features are the features that both sides support.
	Features Features
}

// String returns the terms as one human-readable line, which gorun -explain prints.
func (t Terms) String() string {
	crc := "on"
	if t.Features&WithoutCRC != 0 {
		crc = "off"
	}
	return fmt.Sprintf("IRD %d, ORD %d, credits %d out and %d in of %d B, CRC %s",
		t.Depths.IRD, t.Depths.ORD, t.SendCredits, t.ReceiveCredits, t.Slot, crc)
}

// Request returns the record of a request. The caller sets Purpose, Incarnation, Attempt and Nonce, and
// AppendRequest sets Job and Source. credits is the number of receives granted to the peer.
func (p *Policy) Request(credits uint16) Record {
	return Record{Depths: p.Limits.Offer(), Credits: credits, Slot: slotOf(p.Slot), Features: p.Features, Rail: p.Rail}
}

// Accept computes the reply to a request, and the terms of the passive side. ev are the depths in
// the provider's event of the request. The caller sets Incarnation, Attempt and Nonce of the reply.
// credits is the number of receives granted to the peer.
func (p *Policy) Accept(request *Record, ev Event, credits uint16) (Record, Terms) {
	reply := p.Request(credits)
	reply.Depths = p.Limits.Grant(request.Depths, ev)
	return reply, agree(&reply, request, reply.Depths)
}

// Conclude computes the terms of the active side from its request and the reply.
func Conclude(request, reply *Record) (Terms, error) {
	final, err := Settle(request.Depths, reply.Depths)
	if err != nil {
		return Terms{}, err
	}
	return agree(request, reply, final), nil
}

// agree combines the records of both sides into the terms of the side that wrote the first record.
// depths are the depths of that side.
func agree(own, peer *Record, depths Depths) Terms {
	return Terms{
		Depths: depths, SendCredits: peer.Credits, ReceiveCredits: own.Credits,
		Slot: min(own.Slot, peer.Slot), Features: own.Features & peer.Features,
	}
}
