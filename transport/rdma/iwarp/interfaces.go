package iwarp

import (
	"fmt"
	"net"
	"net/netip"
)

// addresses holds the addresses of an interface that the provider uses, at most one of each family.
type addresses struct{ v4, v6 netip.Addr }

// first returns the address that represents the interface: the IPv4 address if there is one.
func (a addresses) first() netip.Addr {
	if a.v4.IsValid() {
		return a.v4
	}
	return a.v6
}

// of returns the address of the same family as b. The result is invalid if the interface has no
// address of this family.
func (a addresses) of(b netip.Addr) netip.Addr {
	if b.Is4() {
		return a.v4
	}
	return a.v6
}

// add stores an address of the interface. If an address of the same family is stored already, add
// replaces it only if the stored address is link-local and the new address is not link-local.
func (a *addresses) add(b netip.Addr) {
	b = b.Unmap()
	at := &a.v6
	if b.Is4() {
		at = &a.v4
	}
	if !at.IsValid() || at.IsLinkLocalUnicast() && !b.IsLinkLocalUnicast() {
		*at = b
	}
}

// interfaceAddresses returns the addresses of an interface in the order in which the operating
// system lists them.
func interfaceAddresses(i *net.Interface) ([]netip.Addr, error) {
	list, err := i.Addrs()
	if err != nil {
		return nil, fmt.Errorf("iwarp: addresses of %s: %w", i.Name, err)
	}
	all := make([]netip.Addr, 0, len(list))
	for _, item := range list {
		prefix, err := netip.ParsePrefix(item.String())
		if err != nil {
			continue // not an IP address
		}
		a := prefix.Addr().Unmap()
		if a.Is6() && a.IsLinkLocalUnicast() {
			a = a.WithZone(i.Name)
		}
		all = append(all, a)
	}
	return all, nil
}

// interfaceNames lists the names of the interfaces that are up and have an address. Loopback comes
// last, because it reaches no other host.
func interfaceNames() ([]string, error) {
	list, err := net.Interfaces()
	if err != nil {
		return nil, fmt.Errorf("iwarp: interfaces: %w", err)
	}
	var names, loops []string
	for i := range list {
		if list[i].Flags&net.FlagUp == 0 {
			continue
		}
		all, err := interfaceAddresses(&list[i])
		switch {
		case err != nil:
			return nil, err
		case len(all) == 0:
		case list[i].Flags&net.FlagLoopback != 0:
			loops = append(loops, list[i].Name)
		default:
			names = append(names, list[i].Name)
		}
	}
	return append(names, loops...), nil
}

// findAddresses resolves the name that was passed to Open: the name of an interface, one of its
// addresses, or a prefix that contains one of its addresses. The error wraps ErrNoInterface if no
// interface that is up matches.
func findAddresses(name string) (addresses, error) {
	var found addresses
	list, err := net.Interfaces()
	if err != nil {
		return found, fmt.Errorf("iwarp: interfaces: %w", err)
	}
	prefix, _ := netip.ParsePrefix(name) // after an error the prefix is invalid and contains no address
	single, _ := netip.ParseAddr(name)
	single = single.Unmap()
	for i := range list {
		if list[i].Flags&net.FlagUp == 0 {
			continue
		}
		all, err := interfaceAddresses(&list[i])
		if err != nil {
			return found, err
		}
		for _, a := range all {
			if list[i].Name == name || a == single || prefix.Contains(a.WithZone("")) {
				found.add(a)
			}
		}
	}
	if !found.first().IsValid() {
		return found, fmt.Errorf("%w: %q", ErrNoInterface, name)
	}
	return found, nil
}
