package iwarp

import (
	"encoding/binary"
	"net/netip"
)

// mostCrowded returns the place of the connection to be dropped among those without a request,
// the oldest of which comes first: of the older half the oldest one of the address that has most
// in that half. So one address, however fast it connects, drops its own connections; and many
// ranks behind one address (NAT) have, as all, as long for their requests as half of the places
// take to be filled.
func mostCrowded(list []*halfOpen) int {
	older := list[:(len(list)+1)/2]
	counts := make(map[host]int, len(older))
	most := 0
	for _, h := range older {
		n := counts[h.host] + 1
		counts[h.host] = n
		most = max(most, n)
	}
	for i, h := range older {
		if counts[h.host] == most {
			return i
		}
	}
	return 0
}

// host is what one host can have as its addresses: one of IPv4, 2^64 of IPv6.
type host uint64

func hostOf(a netip.Addr) host {
	b := a.As16()
	if a.Is4() {
		return host(binary.BigEndian.Uint64(b[8:])) // ::ffff:a.b.c.d
	}
	return host(binary.BigEndian.Uint64(b[:]))
}
