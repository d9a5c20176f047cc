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

// place is a device and where it is in the network.
type place struct {
	device uverbs.Device
	site   uverbs.Site
	// prefixes are the addresses of the site's interface that lead to the device, those first
	// that other hosts can reach.
	prefixes []netip.Prefix
}

// choose returns the place of a name: of several that fit, the first with an address that other
// hosts can reach, or else the first with an address.
func choose(all []uverbs.Device, sites func(*uverbs.Device) []uverbs.Site, prefixes func(on string) []netip.Prefix, name string) (place, error) {
	if len(all) == 0 {
		return place{}, fmt.Errorf("kernel: device %s: %w", name, ErrNoDevices)
	}
	var best place
	named := "" // a device of the name without an address
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

// portOf reports whether a name is that of a device, and of which port of it; 0 is any.
func portOf(device, name string) (int, bool) {
	if device == name {
		return 0, true
	}
	rest, ok := strings.CutPrefix(name, device+":")
	port, err := strconv.ParseUint(rest, 10, 8)
	return int(port), ok && err == nil && port > 0
}

// leading are the addresses of an interface that lead to a site, those first that other hosts
// can reach, and of these the ones of RoCE v2.
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

// reachable reports whether other hosts can reach the first address.
func (p *place) reachable() bool { return !p.prefixes[0].Addr().IsLinkLocalUnicast() }

// prefer makes an address the first one, however it is spelled. It reports whether it is one of
// the place. A zone, if there is one, is its interface.
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

// String is where the device is, for people.
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
		s += ", RoCE v1 alone, which no router forwards"
	}
	return s
}

// prefixesOf returns the addresses of an interface with their networks.
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
