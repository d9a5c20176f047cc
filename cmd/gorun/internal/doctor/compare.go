package doctor

import (
	"fmt"
	"net/netip"
	"strings"
	"time"
)

// skewMax is the largest difference between the clocks of two hosts at which the times in their
// logs can still be compared.
const skewMax = time.Second

// compare adds three kinds of findings to the findings of each host that has reported: the finding about its
// version, the findings of its own report, and the findings that need the reports of several hosts.
func compare(hosts []*Host, version string) {
	widths := map[netip.Prefix]*width{}
	for _, h := range hosts {
		if h.Report == nil {
			continue
		}
		for _, a := range h.Report.Addresses {
			w := widths[a.Network]
			if w == nil {
				widths[a.Network] = &width{host: h.Name, address: a}
			} else if w.address.MTU != a.MTU {
				h.Findings = append(h.Findings, warn("MTU", "ip link set dev "+a.Interface+" mtu N on one of the two",
					"%s is %d here and %d on host %s, in one network (%v)", a.Interface, a.MTU, w.address.MTU, w.host, a.Network))
			}
		}
		h.Findings = append(h.Findings, h.versions(version))
		h.Findings = append(h.Findings, h.Report.Findings...)
		if len(hosts) > 1 {
			h.Findings = append(append(h.Findings, h.clock()), h.ways(hosts)...)
		}
	}
}

// width holds the first address that was found in a network, and the name of its host. The MTU of that address
// is compared with the MTUs of all other addresses in the network.
type width struct {
	host    string
	address Address
}

// versions checks that gorun on a host has the expected version.
func (h *Host) versions(version string) Finding {
	if h.Report.Version != version {
		return fail("version", "copy this gorun there, or name the right one with -agent-path", "its gorun is %s, this one is %s", h.Report.Version, version)
	}
	return ok("version", "gorun %s", version)
}

// clock checks the clock of a host.
func (h *Host) clock() Finding {
	if skew := h.Skew.Abs(); skew > skewMax+h.Within {
		return warn("clock", "start chronyd or ntpd there: the times in its logs are wrong", "it is %v off", h.Skew.Round(time.Millisecond))
	}
	return ok("clock", "within %v of this machine's", (h.Skew.Abs() + h.Within).Round(time.Millisecond))
}

// ways checks that a host could connect to every other host that has reported.
func (h *Host) ways(hosts []*Host) []Finding {
	const check = "network"
	const firewall = "let firewalls pass TCP between the hosts, on every port, or choose another network with -net"
	var found []Finding
	var good []string
	for _, other := range hosts {
		if other == h || other.Report == nil {
			continue
		}
		var reached, failed []string
		stalled := false
		for _, a := range h.Answers {
			if a.Peer != other.Name {
				continue
			}
			if a.Err == "" {
				reached = append(reached, a.Address.At.Addr().String())
			} else {
				failed = append(failed, a.Err)
				stalled = stalled || a.Stalled
			}
		}
		switch {
		case len(reached) > 0:
			good = append(good, fmt.Sprintf("%s at %s", other.Name, strings.Join(reached, " and ")))
		case len(failed) == 0:
			found = append(found, fail(check, "give it one, or start ranks on the others alone", "host %s has no address that others can reach", other.Name))
		case stalled:
			found = append(found, fail(check, "lower the MTU of the interface, or repair path MTU discovery (ICMP)", "host %s is reached, but long messages do not arrive there: %s", other.Name, strings.Join(failed, "; ")))
		default:
			found = append(found, fail(check, firewall, "host %s cannot be reached: %s", other.Name, strings.Join(failed, "; ")))
		}
	}
	if len(good) > 0 {
		found = append(found, ok(check, "reaches %s", strings.Join(good, ", ")))
	}
	return found
}
