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

// Limits are what a side wants and what its device can do.
type Limits struct{ Want, Device Depths }

// Offer returns the depths of a request.
func (l *Limits) Offer() Depths {
	return Depths{
		IRD: clamp(min(l.Want.IRD, l.Device.IRD)),
		ORD: clamp(min(l.Want.ORD, l.Device.ORD)),
	}
}

// Grant returns the depths of the reply to a request that offered these, with
// the depths of the provider's event. It never grants more than was offered: an active
// InfiniBand side takes the values as they come.
func (l *Limits) Grant(offered Depths, ev Event) Depths {
	own, peer := l.Offer(), Depths{IRD: clamp(offered.IRD), ORD: clamp(offered.ORD)}
	if ev != (Event{}) {
		peer.IRD = min(peer.IRD, clamp(ev.InitiatorDepth))
		peer.ORD = min(peer.ORD, clamp(ev.ResponderResources))
	}
	return Depths{IRD: min(own.IRD, peer.ORD), ORD: min(own.ORD, peer.IRD)}
}

// Settle returns what the active side uses, given what it offered and what the
// reply granted.
func Settle(offered, granted Depths) (Depths, error) {
	if granted.ORD > offered.IRD {
		return Depths{}, refuse(Depth, "the peer wants %d reads in flight, %d were offered", granted.ORD, offered.IRD)
	}
	return Depths{IRD: offered.IRD, ORD: min(offered.ORD, granted.IRD)}, nil
}

func clamp(depth int) int { return min(max(depth, 0), MaxDepth) }

func depthByte(depth int) byte { return byte(clamp(depth)) }
