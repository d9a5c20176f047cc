package iwarp

import (
	"encoding/binary"
	"net/netip"
)

// mostCrowded returns the index of the connection to be dropped. list contains the connections
// without a request, the oldest first. In the older half of the list, mostCrowded finds the host
// with the most connections, and selects the oldest connection of this host. Therefore new connections of a host that
// connects often usually replace older connections of the same host. A connection can be dropped only when it is in
// the older half of the list, that is, after enough newer connections have arrived. So even if many ranks have one
// address in common (NAT), each of them has some time to send its request.
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

// host identifies a host: by its IPv4 address, or by the 64-bit prefix of its IPv6 address. The
// whole prefix counts as one host, because a host can use all 2^64 addresses of its prefix.
type host uint64

func hostOf(a netip.Addr) host {
	b := a.As16()
	if a.Is4() {
		return host(binary.BigEndian.Uint64(b[8:])) // ::ffff:a.b.c.d
	}
	return host(binary.BigEndian.Uint64(b[:]))
}
