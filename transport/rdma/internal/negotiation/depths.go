package negotiation

// MaxDepth is the largest number of reads in flight that a record can contain. librdmacm takes 255
// as "the device's maximum". Some devices support 256, which does not fit into a byte.
const MaxDepth = 254

// Depths are the numbers of reads and atomics in flight of one side: IRD is the number that the side
// serves at once. ORD is the number that the side issues at once.
type Depths struct{ IRD, ORD int }

// Event has the depths in the connection request event of a provider. They are named from the point
// of view of the passive side: ResponderResources is the peer's ORD and InitiatorDepth the peer's
// IRD (rdma_get_cm_event(3)). If both are 0, the depths are unknown, because MPA revision 1 does not
// carry depths.
type Event struct{ ResponderResources, InitiatorDepth int }

// Limits are the depths that a side wants and the depths that its device supports.
type Limits struct{ Want, Device Depths }

// Offer returns the depths of a request.
func (l *Limits) Offer() Depths {
	return Depths{
		IRD: clamp(min(l.Want.IRD, l.Device.IRD)),
		ORD: clamp(min(l.Want.ORD, l.Device.ORD)),
	}
}

// Grant returns the depths of the reply to a request. offered are the depths in the record of the
// request, and ev are the depths in the provider's event. Grant never grants more than was offered,
// because on InfiniBand the active side uses the granted values without a check.
func (l *Limits) Grant(offered Depths, ev Event) Depths {
	own, peer := l.Offer(), Depths{IRD: clamp(offered.IRD), ORD: clamp(offered.ORD)}
	if ev != (Event{}) {
		peer.IRD = min(peer.IRD, clamp(ev.InitiatorDepth))
		peer.ORD = min(peer.ORD, clamp(ev.ResponderResources))
	}
	return Depths{IRD: min(own.IRD, peer.ORD), ORD: min(own.ORD, peer.IRD)}
}

// Settle returns the depths that the active side uses, from the depths that it offered and the
// depths that the reply granted.
func Settle(offered, granted Depths) (Depths, error) {
	if granted.ORD > offered.IRD {
		return Depths{}, refuse(Depth, "the peer wants %d reads in flight, %d were offered", granted.ORD, offered.IRD)
	}
	return Depths{IRD: offered.IRD, ORD: min(offered.ORD, granted.IRD)}, nil
}

func clamp(depth int) int { return min(max(depth, 0), MaxDepth) }

func depthByte(depth int) byte { return byte(clamp(depth)) }
