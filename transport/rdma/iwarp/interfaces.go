package iwarp

import (
	"fmt"
	"net"
	"net/netip"
)

// addresses are those of an interface, one of each family at most.
type addresses struct{ v4, v6 netip.Addr }

// first returns the address that stands for the interface.
func (a addresses) first() netip.Addr {
	if a.v4.IsValid() {
		return a.v4
	}
	return a.v6
}

// of returns the address of the family of b, or none.
func (a addresses) of(b netip.Addr) netip.Addr {
	if b.Is4() {
		return a.v4
	}
	return a.v6
}

// add takes an address of the interface, unless there is a better one of its family
// already: one that is not link-local.
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

// interfaceAddresses returns the addresses of an interface in the system's order.
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

// interfaceNames lists the interfaces that are up and have an address, loopback
// last: it reaches no other host.
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

// findAddresses resolves what Open is given: the name of an interface, an address of
// one, or a prefix that contains one.
func findAddresses(name string) (addresses, error) {
	var found addresses
	list, err := net.Interfaces()
	if err != nil {
		return found, fmt.Errorf("iwarp: interfaces: %w", err)
	}
	prefix, _ := netip.ParsePrefix(name) // an invalid one contains nothing
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
