package probe

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/gorun-hpc/gorun/transport"
)

// Choice is an address that a rank can listen on and connect from.
type Choice struct {
	// Interface is its name.
	Interface string
	// Address is a single address; a link-local one carries its zone.
	Address netip.Addr
	// Network is the network of the address.
	Network netip.Prefix
	// Device is the RDMA device of the interface, or "".
	Device string
}

// String is the choice for a reader.
func (c Choice) String() string {
	s := c.Address.String() + " on " + c.Interface
	if c.Device != "" {
		s += " with RDMA device " + c.Device
	}
	return s
}

// NetworkError says that no interface fits a wish, and lists what there is. It
// is transport.ErrNotSupported.
type NetworkError struct {
	// Wish is the wish that nothing fits; "" if there was none.
	Wish string
	// Cause says what is wrong with it.
	Cause string
	// Interfaces is what there is.
	Interfaces []Interface
}

// Error names the wish, the cause and every interface.
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

// Is says that the machine cannot do what was asked.
func (e *NetworkError) Is(target error) bool { return target == transport.ErrNotSupported }

// Network returns the address to use for a wish, "" for none. The error is a
// *NetworkError unless the interfaces cannot be listed.
func (h *Host) Network(wish string) (Choice, error) {
	all, err := h.Interfaces()
	if err != nil {
		return Choice{}, err
	}
	devices := h.deviceOf()
	if wish == "" {
		if c, ok := best(all, devices, func(*Interface, netip.Addr) bool { return true }); ok {
			return c, nil
		}
		return Choice{}, &NetworkError{Cause: "no network interface is up and has an address", Interfaces: all}
	}
	var causes []string
	for one := range strings.SplitSeq(wish, ",") {
		c, err := choose(all, devices, strings.TrimSpace(one))
		if err == nil {
			return c, nil
		}
		causes = append(causes, err.Error())
	}
	return Choice{}, &NetworkError{Wish: wish, Cause: strings.Join(causes, ", "), Interfaces: all}
}

// Owns reports whether an address is one of this host's, as every loopback address is.
func (h *Host) Owns(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	all, err := h.Interfaces()
	return a.IsLoopback() || err == nil && slices.ContainsFunc(all, func(i Interface) bool {
		return slices.ContainsFunc(i.Addresses, func(p netip.Prefix) bool { return p.Addr().WithZone("") == a })
	})
}

// choose fits one part of a wish.
func choose(all []Interface, devices map[string]string, wish string) (Choice, error) {
	fits, what, err := parse(all, wish)
	if err != nil {
		return Choice{}, err
	}
	if c, ok := best(all, devices, fits); ok {
		return c, nil
	}
	for i := range all {
		if !all[i].Up && slices.ContainsFunc(all[i].Addresses, func(a netip.Prefix) bool { return fits(&all[i], a.Addr()) }) {
			return Choice{}, fmt.Errorf("interface %s is down", all[i].Name)
		}
	}
	return Choice{}, errors.New(what)
}

// parse returns what an address has to fulfil for a wish, and what to say when
// none does.
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

// best returns the best address that fits, by the order of doc.go.
func best(all []Interface, devices map[string]string, fits func(*Interface, netip.Addr) bool) (Choice, bool) {
	type candidate struct {
		Choice
		rank [6]int // smaller is better
	}
	var found []candidate
	for at := range all {
		i := &all[at]
		for _, network := range i.Addresses {
			a := network.Addr()
			if !i.Up || a.IsUnspecified() || a.IsMulticast() || !fits(i, a) {
				continue
			}
			c := candidate{Choice: Choice{Interface: i.Name, Address: a, Network: network.Masked(), Device: devices[i.Name]}}
			if a.Is6() && a.IsLinkLocalUnicast() {
				c.Address = a.WithZone(i.Name)
			}
			c.rank = [6]int{
				count(a.IsLinkLocalUnicast()), count(i.Loopback || a.IsLoopback()), count(c.Device == ""),
				count(i.Virtual), -i.Speed, count(a.Is6()),
			}
			found = append(found, c)
		}
	}
	if len(found) == 0 {
		return Choice{}, false
	}
	// The first of equals is the kernel's.
	return slices.MinFunc(found, func(a, b candidate) int { return slices.Compare(a.rank[:], b.rank[:]) }).Choice, true
}

// count is 1 for what speaks against an address.
func count(against bool) int {
	if against {
		return 1
	}
	return 0
}
