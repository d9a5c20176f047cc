package bootstrap

import (
	"net/netip"
	"strings"
)

// mappedBits is the number of bits of the IPv6 form of an IPv4 address that precede the IPv4 address.
const mappedBits = 96

// Networks returns a list such as the value of EnvNet in the form in which ranks compare it with their addresses. An
// IPv4 address or network in IPv6 form, such as ::ffff:10.1.0.0/112, gets the form of IPv4. Networks does not
// change other elements, such as an IPv4 network in IPv6 form with a prefix of less than 96 bits, which contains no
// address of a machine.
func Networks(list string) string {
	parts := strings.Split(list, ",")
	for i, part := range parts {
		part = strings.TrimSpace(part)
		if p, err := netip.ParsePrefix(part); err == nil && p.Addr().Is4In6() && p.Bits() >= mappedBits {
			parts[i] = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-mappedBits).String()
		}
		if a, err := netip.ParseAddr(part); err == nil && a.Is4In6() {
			parts[i] = a.Unmap().String()
		}
	}
	return strings.Join(parts, ",")
}
