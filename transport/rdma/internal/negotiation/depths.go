package negotiation

// MaxDepth is the largest number of reads in flight that a record can name.
// 255 means "the device's maximum" to librdmacm, and a device's 256 would wrap.
const MaxDepth = 254

// Depths are the numbers of reads and atomics in flight: IRD is how many a side
// serves at once, ORD how many it issues.
type Depths struct{ IRD, ORD int }

// Event are the depths in the connection request event of a provider, in the
// terms of the passive side: they have crossed, so ResponderResources is the
// peer's ORD and InitiatorDepth the peer's IRD (rdma_get_cm_event(3)). Both 0
// mean unknown, as with MPA revision 1.
type Event struct{ ResponderResources, InitiatorDepth int }

// Limits are what a side wants, what its device can do, and what it insists on.
type Limits struct {
	Want, Device Depths
	// Minimum refuses a connection with less; the zero value takes anything.
	Minimum Depths
	// ReadStart says that an iWARP connection starts with a zero-length read of
	// the active side (RFC 6581, RTR), which needs an IRD of 1 on the passive side.
	ReadStart bool
}

// Offer returns the depths of a request.
func (l *Limits) Offer() Depths {
	return Depths{
		IRD: clamp(min(l.Want.IRD, l.Device.IRD)),
		ORD: clamp(min(l.Want.ORD, l.Device.ORD)),
	}
}

// Grant returns the depths of the reply to a request that offered these, with
// the depths of the provider's event. It never grants more than was offered
// (but for ReadStart): an active InfiniBand side takes the values as they come.
func (l *Limits) Grant(offered Depths, ev Event) (Depths, error) {
	own, peer := l.Offer(), Depths{IRD: clamp(offered.IRD), ORD: clamp(offered.ORD)}
	if ev != (Event{}) {
		peer.IRD = min(peer.IRD, clamp(ev.InitiatorDepth))
		peer.ORD = min(peer.ORD, clamp(ev.ResponderResources))
	}
	granted := Depths{IRD: min(own.IRD, peer.ORD), ORD: min(own.ORD, peer.IRD)}
	if l.ReadStart && granted.IRD == 0 {
		granted.IRD = min(1, clamp(l.Device.IRD))
	}
	return granted, l.check(Depths{IRD: min(granted.IRD, peer.ORD), ORD: granted.ORD})
}

// Settle returns what the active side uses, given what it offered and what the
// reply granted.
func (l *Limits) Settle(offered, granted Depths) (Depths, error) {
	if granted.ORD > offered.IRD {
		return Depths{}, refuse(Depth, "the peer wants %d reads in flight, %d were offered", granted.ORD, offered.IRD)
	}
	final := Depths{IRD: offered.IRD, ORD: min(offered.ORD, granted.IRD)}
	return final, l.check(Depths{IRD: granted.ORD, ORD: final.ORD})
}

// check holds what is usable in each direction against the minimum.
func (l *Limits) check(usable Depths) error {
	if usable.IRD >= l.Minimum.IRD && usable.ORD >= l.Minimum.ORD {
		return nil
	}
	err := refuse(Depth, "reads in flight would be IRD %d, ORD %d; the minimum is IRD %d, ORD %d",
		usable.IRD, usable.ORD, l.Minimum.IRD, l.Minimum.ORD)
	// The peer has to serve what this side issues, and the other way round.
	err.Reject.Required = Depths{IRD: l.Minimum.ORD, ORD: l.Minimum.IRD}
	return err
}

func clamp(depth int) int { return min(max(depth, 0), MaxDepth) }

func depthByte(depth int) byte { return byte(clamp(depth)) }
