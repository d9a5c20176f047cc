package negotiation

import "fmt"

// Policy is what a side brings into the negotiation with any peer.
type Policy struct {
	Limits Limits
	// Slot is the size of this side's eager receives in bytes, Features what it can do.
	Slot     int
	Features Features
	// Rail is the number of this side's adapter.
	Rail uint8
}

// Terms are what two sides agreed on. They mirror each other: what is Send at
// one end is Receive at the other.
type Terms struct {
	// Depths are this side's: ORD is the number of reads and atomics that it may
	// have in flight, IRD the number it serves.
	Depths Depths
	// SendCredits is the number of frames this side may send at first,
	// ReceiveCredits the number it granted.
	SendCredits, ReceiveCredits uint16
	// Slot is the largest eager frame in bytes, both ways.
	Slot int
	// Features are those that both sides have.
	Features Features
}

// String is one line for a reader: gorun -explain prints it.
func (t Terms) String() string {
	crc := "on"
	if t.Features&WithoutCRC != 0 {
		crc = "off"
	}
	return fmt.Sprintf("IRD %d, ORD %d, credits %d out and %d in of %d B, CRC %s",
		t.Depths.IRD, t.Depths.ORD, t.SendCredits, t.ReceiveCredits, t.Slot, crc)
}

// Request returns the record of a request without its sender, the number of the attempt and
// the nonce.
// credits is the number of receives granted to the peer.
func (p *Policy) Request(credits uint16) Record {
	return Record{Depths: p.Limits.Offer(), Credits: credits, Slot: slotOf(p.Slot), Features: p.Features, Rail: p.Rail}
}

// Accept computes the reply to a request and the terms of the passive side. The
// caller sets Incarnation, Attempt and Nonce of the reply.
func (p *Policy) Accept(request *Record, ev Event, credits uint16) (Record, Terms) {
	reply := p.Request(credits)
	reply.Depths = p.Limits.Grant(request.Depths, ev)
	return reply, agree(&reply, request, reply.Depths)
}

// Conclude computes the terms of the active side.
func Conclude(request, reply *Record) (Terms, error) {
	final, err := Settle(request.Depths, reply.Depths)
	if err != nil {
		return Terms{}, err
	}
	return agree(request, reply, final), nil
}

// agree combines what is symmetric.
func agree(own, peer *Record, depths Depths) Terms {
	return Terms{
		Depths: depths, SendCredits: peer.Credits, ReceiveCredits: own.Credits,
		Slot: min(own.Slot, peer.Slot), Features: own.Features & peer.Features,
	}
}
