package probe

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/gorun-hpc/gorun/transport"
)

// NetworkError reports that no address can be used, or that no address matches a preference (-net).
// It lists the interfaces. errors.Is finds transport.ErrNotSupported in it.
type NetworkError struct {
	// Wish is the preference that no address matches, or "" if there was none.
	Wish string
	// Cause is the reason why no address matches.
	Cause string
	// Interfaces are the interfaces of the host.
	Interfaces []Interface
}

// Error names the preference, the cause and every interface.
func (e *NetworkError) Error() string {
	var b strings.Builder
	if e.Wish != "" {
		fmt.Fprintf(&b, "-net %s: ", e.Wish)
	}
	b.WriteString(e.Cause)
	for i := range e.Interfaces {
		separator := "; "
		if i == 0 {
			separator = "; there are: "
		}
		b.WriteString(separator + e.Interfaces[i].String())
	}
	return b.String()
}

// Is makes errors.Is find transport.ErrNotSupported in a NetworkError.
func (e *NetworkError) Is(target error) bool { return target == transport.ErrNotSupported }

// Network returns the address at which a rank can listen, and from which it can connect, for the preference wish.
// wish is "" if there is no preference. A link-local IPv6 address contains its zone.
// The error is a *NetworkError, or the error that has occurred when the interfaces were listed.
func (h *Host) Network(wish string) (netip.Addr, error) {
	all, err := h.Interfaces()
	if err != nil {
		return netip.Addr{}, err
	}
	rdma := h.withDevice()
	if wish == "" {
		if a := best(all, rdma, func(*Interface, netip.Addr) bool { return true }); a.IsValid() {
			return a, nil
		}
		return netip.Addr{}, &NetworkError{Cause: "no network interface is up and has an address", Interfaces: all}
	}
	var causes []string
	for one := range strings.SplitSeq(wish, ",") {
		a, err := choose(all, rdma, strings.TrimSpace(one))
		if err == nil {
			return a, nil
		}
		causes = append(causes, err.Error())
	}
	return netip.Addr{}, &NetworkError{Wish: wish, Cause: strings.Join(causes, ", "), Interfaces: all}
}

// Owns reports whether a is an address of this host. Every loopback address is an address of this
// host.
func (h *Host) Owns(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	all, err := h.Interfaces()
	return a.IsLoopback() || err == nil && slices.ContainsFunc(all, func(i Interface) bool {
		return slices.ContainsFunc(i.Addresses, func(p netip.Prefix) bool { return p.Addr().WithZone("") == a })
	})
}

// choose returns the best address for one preference of the list.
func choose(all []Interface, rdma map[string]bool, wish string) (netip.Addr, error) {
	fits, what, err := parse(all, wish)
	if err != nil {
		return netip.Addr{}, err
	}
	if a := best(all, rdma, fits); a.IsValid() {
		return a, nil
	}
	for i := range all {
		if !all[i].Up && slices.ContainsFunc(all[i].Addresses, func(a netip.Prefix) bool { return fits(&all[i], a.Addr()) }) {
			return netip.Addr{}, fmt.Errorf("interface %s is down", all[i].Name)
		}
	}
	return netip.Addr{}, errors.New(what)
}

// parse returns the condition that an address has to meet for a preference, and the error text for
// the case that no address meets it.
func parse(all []Interface, wish string) (fits func(*Interface, netip.Addr) bool, what string, err error) {
	for i := range all {
		if all[i].Name != wish {
			continue
		}
		what = "interface " + wish + " has no address"
		if !all[i].Up {
			what = "interface " + wish + " is down"
		}
		return func(i *Interface, _ netip.Addr) bool { return i.Name == wish }, what, nil
	}
	if a, err := netip.ParseAddr(wish); err == nil {
		if a.IsUnspecified() {
			return nil, "", fmt.Errorf("%s would listen on every network: name one interface, address or network", wish)
		}
		a = a.Unmap()
		return func(i *Interface, b netip.Addr) bool {
			return b.WithZone("") == a.WithZone("") && (a.Zone() == "" || a.Zone() == i.Name)
		}, "no interface has the address " + wish, nil
	}
	if p, err := netip.ParsePrefix(wish); err == nil {
		return func(_ *Interface, b netip.Addr) bool { return p.Contains(b.WithZone("")) },
			"no interface has an address in " + wish, nil
	}
	if strings.ContainsAny(wish, "/:") {
		return nil, "", fmt.Errorf("%q is no address and no network in CIDR form (10.1.0.0/16, fd00::/64)", wish)
	}
	return nil, "", fmt.Errorf("there is no interface %q", wish)
}

// best returns the best address that meets the condition, in the order that doc.go gives. It returns the zero
// Addr if no address meets the condition. rdma has the interfaces with a usable RDMA device.
func best(all []Interface, rdma map[string]bool, fits func(*Interface, netip.Addr) bool) netip.Addr {
	type candidate struct {
		address netip.Addr
		rank    [6]int // in the order of importance; smaller values are better
	}
	var found []candidate
	for at := range all {
		i := &all[at]
		for _, network := range i.Addresses {
			a := network.Addr()
			if !i.Up || a.IsUnspecified() || a.IsMulticast() || !fits(i, a) {
				continue
			}
			c := candidate{address: a, rank: [6]int{
				count(a.IsLinkLocalUnicast()), count(i.Loopback || a.IsLoopback()), count(!rdma[i.Name]),
				count(i.Virtual), -i.Speed, count(a.Is6()),
			}}
			if a.Is6() && a.IsLinkLocalUnicast() {
				c.address = a.WithZone(i.Name)
			}
			found = append(found, c)
		}
	}
	if len(found) == 0 {
		return netip.Addr{}
	}
	// If several addresses are equally good, MinFunc returns the first of them, which is the first
	// in the kernel's order.
	return slices.MinFunc(found, func(a, b candidate) int { return slices.Compare(a.rank[:], b.rank[:]) }).address
}

// count converts a property that makes an address less suitable to a number: 1 if the address has
// the property, and 0 otherwise.
func count(against bool) int {
	if against {
		return 1
	}
	return 0
}
