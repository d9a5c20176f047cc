package kernel

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/uverbs"
)

// place is a port of a device, with its location in the network.
type place struct {
	device uverbs.Device
	site   uverbs.Site
	// prefixes contains those addresses of the site's interface that lead to the device. Addresses
	// that other hosts can reach come first.
	prefixes []netip.Prefix
}

// choose returns the place that a name denotes. If several places match, it returns the first place
// whose address other hosts can reach. If there is no such place, it returns the first place that
// has an address.
func choose(all []uverbs.Device, sites func(*uverbs.Device) []uverbs.Site, prefixes func(on string) []netip.Prefix, name string) (place, error) {
	if len(all) == 0 {
		return place{}, fmt.Errorf("kernel: device %s: %w", name, ErrNoDevices)
	}
	var best place
	named := "" // a device that matches the name, perhaps one without an address
	names := make([]string, 0, len(all))
	for i := range all {
		d := &all[i]
		names = append(names, d.Name)
		port, isDevice := portOf(d.Name, name)
		if isDevice {
			named = d.Name
		}
		for _, s := range sites(d) {
			p := place{device: *d, site: s, prefixes: leading(&s, prefixes(s.Interface))}
			switch {
			case isDevice && (port == 0 || port == s.Port):
			case s.Interface == name:
				named = d.Name
			case !p.prefer(name):
				continue
			}
			if len(p.prefixes) > 0 && (best.prefixes == nil || !best.reachable() && p.reachable()) {
				best = p
			}
		}
	}
	switch {
	case best.prefixes != nil:
		return best, nil
	case named != "":
		return place{}, fmt.Errorf("kernel: device %s: %w", named, ErrNoAddress)
	default:
		return place{}, fmt.Errorf("kernel: device %s: %w; there is %s", name, uverbs.ErrNoDevice, strings.Join(append(names, "no other"), ", "))
	}
}

// portOf reports whether a name denotes a device, and returns the number of the port in the name.
// It returns 0 if the name contains no port number, so that every port matches.
func portOf(device, name string) (int, bool) {
	if device == name {
		return 0, true
	}
	rest, ok := strings.CutPrefix(name, device+":")
	port, err := strconv.ParseUint(rest, 10, 8)
	return int(port), ok && err == nil && port > 0
}

// leading returns the addresses of an interface that lead to the port of a site (an interface of a
// port). Addresses that other hosts can reach come first. Among them, the addresses with a GID of
// RoCE v2 come first.
func leading(s *uverbs.Site, prefixes []netip.Prefix) []netip.Prefix {
	if s.Addresses != nil {
		prefixes = slices.DeleteFunc(slices.Clone(prefixes), func(p netip.Prefix) bool { return !slices.Contains(s.Addresses, p.Addr().Unmap()) })
	}
	rank := func(p netip.Prefix) int {
		switch {
		case p.Addr().IsLinkLocalUnicast():
			return 2
		case s.Addresses != nil && !slices.Contains(s.Version2, p.Addr().Unmap()):
			return 1
		default:
			return 0
		}
	}
	prefixes = slices.Clone(prefixes)
	slices.SortStableFunc(prefixes, func(a, b netip.Prefix) int { return rank(a) - rank(b) })
	return prefixes
}

// reachable reports whether other hosts can reach the first address of the place, that is, whether
// this address is not link-local.
func (p *place) reachable() bool { return !p.prefixes[0].Addr().IsLinkLocalUnicast() }

// prefer parses name as an address, and makes this address the first address of the place. It
// reports whether the place has this address. If the name contains a zone, the zone must be the
// place's interface.
func (p *place) prefer(name string) bool {
	a, err := netip.ParseAddr(name)
	if err != nil || a.Zone() != "" && a.Zone() != p.site.Interface {
		return false
	}
	at := slices.IndexFunc(p.prefixes, func(p netip.Prefix) bool { return p.Addr().Unmap() == a.WithZone("").Unmap() })
	if at < 0 {
		return false
	}
	first := p.prefixes[at]
	p.prefixes = slices.Insert(slices.Delete(slices.Clone(p.prefixes), at, at+1), 0, first)
	return true
}

// String returns a text for people with the device, its port and its first address.
func (p *place) String() string {
	s := "device " + p.device.Name
	if p.site.Port > 1 {
		s += fmt.Sprintf(" port %d", p.site.Port)
	}
	first := p.prefixes[0].Addr()
	s += ", " + first.String()
	switch {
	case p.site.Addresses == nil:
	case slices.Contains(p.site.Version2, first.Unmap()):
		s += ", RoCE v2"
	default:
		s += ", only RoCE v1, which no router forwards"
	}
	return s
}

// prefixesOf returns the addresses of an interface with the lengths of their network prefixes.
func prefixesOf(name string) []netip.Prefix {
	i, err := net.InterfaceByName(name)
	if err != nil {
		return nil
	}
	list, err := i.Addrs()
	if err != nil {
		return nil
	}
	var all []netip.Prefix
	for _, a := range list {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			all = append(all, p)
		}
	}
	return all
}
