package rdmacm

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"strconv"

	"golang.org/x/sys/unix"
)

// Offsets in struct sockaddr_in and struct sockaddr_in6.
const (
	socketFamily = 0
	socketPort   = 2
	socketIPv4   = 4
	socketSize4  = unix.SizeofSockaddrInet4
	socketIPv6   = 8
	socketScope  = 24
	socketSize6  = unix.SizeofSockaddrInet6
)

// putAddress writes a socket address to the buffer and returns the size of the address.
func putAddress(to words, a netip.AddrPort) (int, error) {
	ip := a.Addr().Unmap()
	switch {
	case !ip.IsValid():
		return 0, unix.EADDRNOTAVAIL
	case ip.Is4():
		to.put16(socketFamily, unix.AF_INET)
		binary.BigEndian.PutUint16(to[socketPort:], a.Port())
		b := ip.As4()
		copy(to[socketIPv4:], b[:])
		return socketSize4, nil
	}
	scope, err := scopeOf(ip.Zone())
	if err != nil {
		return 0, err
	}
	to.put16(socketFamily, unix.AF_INET6)
	binary.BigEndian.PutUint16(to[socketPort:], a.Port())
	b := ip.As16()
	copy(to[socketIPv6:], b[:])
	to.put32(socketScope, scope)
	return socketSize6, nil
}

// address reads a socket address. It returns the zero AddrPort if the family is AF_UNSPEC, that
// is, if there is no address.
func address(from words) (netip.AddrPort, error) {
	port := binary.BigEndian.Uint16(from[socketPort:])
	switch family := from.at16(socketFamily); family {
	case unix.AF_UNSPEC:
		return netip.AddrPort{}, nil
	case unix.AF_INET:
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte(from[socketIPv4:])), port), nil
	case unix.AF_INET6:
		ip := netip.AddrFrom16([16]byte(from[socketIPv6:]))
		return netip.AddrPortFrom(ip.WithZone(zoneOf(from.at32(socketScope))), port), nil
	default:
		return netip.AddrPort{}, fmt.Errorf("%w: address family %d", unix.EAFNOSUPPORT, family)
	}
}

// scopeOf returns the scope ID of an IPv6 zone. The zone is the name of a network interface, or
// its number.
func scopeOf(zone string) (uint32, error) {
	if zone == "" {
		return 0, nil
	}
	if n, err := strconv.ParseUint(zone, 10, 32); err == nil {
		return uint32(n), nil
	}
	i, err := net.InterfaceByName(zone)
	if err != nil {
		return 0, fmt.Errorf("%w: zone %q: %w", unix.EADDRNOTAVAIL, zone, err)
	}
	return uint32(i.Index), nil
}

// zoneOf returns the zone of a scope ID: the name of the network interface, or the number as text
// if no interface has this number.
func zoneOf(scope uint32) string {
	if scope == 0 {
		return ""
	}
	if i, err := net.InterfaceByIndex(int(scope)); err == nil {
		return i.Name
	}
	return strconv.FormatUint(uint64(scope), 10)
}
