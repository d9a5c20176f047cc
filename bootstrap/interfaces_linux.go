//go:build !portable

package bootstrap

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// ownAddress is an IP address of this machine.
type ownAddress struct {
	ip        netip.Addr
	link      int // index of the network interface that has the address
	loopback  bool
	otherwise bool // the address is not used, because it is valid only on one link (RT_SCOPE_LINK)
}

// askKernel sends a request of rtnetlink(7) and returns the messages of the answer.
func askKernel(request int) ([]syscall.NetlinkMessage, error) {
	table, err := syscall.NetlinkRIB(request, unix.AF_UNSPEC)
	if err != nil {
		return nil, fmt.Errorf("bootstrap: addresses of this machine: %w", err)
	}
	messages, err := syscall.ParseNetlinkMessage(table)
	if err != nil {
		return nil, fmt.Errorf("bootstrap: addresses of this machine: %w", err)
	}
	return messages, nil
}

// interfacesUp returns the indexes of the network interfaces that are up.
func interfacesUp() (map[int]bool, error) {
	messages, err := askKernel(unix.RTM_GETLINK)
	if err != nil {
		return nil, err
	}
	up := map[int]bool{}
	for i := range messages {
		m := &messages[i]
		if m.Header.Type == unix.RTM_NEWLINK && len(m.Data) >= unix.SizeofIfInfomsg {
			up[int(binary.NativeEndian.Uint32(m.Data[4:]))] = binary.NativeEndian.Uint32(m.Data[8:])&unix.IFF_UP != 0
		}
	}
	return up, nil
}

// ownAddresses returns the addresses of this machine, without those of interfaces that are down.
func ownAddresses() ([]ownAddress, error) {
	up, err := interfacesUp()
	if err != nil {
		return nil, err
	}
	messages, err := askKernel(unix.RTM_GETADDR)
	if err != nil {
		return nil, err
	}
	var all []ownAddress
	for i := range messages {
		m := &messages[i]
		if m.Header.Type != unix.RTM_NEWADDR || len(m.Data) < unix.SizeofIfAddrmsg {
			continue
		}
		attributes, err := syscall.ParseNetlinkRouteAttr(m)
		if err != nil {
			return nil, fmt.Errorf("bootstrap: addresses of this machine: %w", err)
		}
		scope := m.Data[3]
		own := ownAddress{link: int(binary.NativeEndian.Uint32(m.Data[4:])), loopback: scope == unix.RT_SCOPE_HOST, otherwise: scope == unix.RT_SCOPE_LINK}
		for _, a := range attributes {
			// For a point-to-point interface, IFA_ADDRESS is the address of the other end.
			if ip, ok := netip.AddrFromSlice(a.Value); ok && (a.Attr.Type == unix.IFA_LOCAL || a.Attr.Type == unix.IFA_ADDRESS && !own.ip.IsValid()) {
				own.ip = ip
			}
		}
		if own.ip.IsValid() && up[own.link] {
			all = append(all, own)
		}
	}
	return all, nil
}

// meetingAddresses returns the addresses at which the other ranks may reach this machine, but at most
// pointAddressesMax addresses. The parameter all has the addresses of the machine. wish is a list of networks,
// addresses and interfaces (GORUN_NET). If wish is not empty, only addresses that match it are returned.
// Loopback addresses are returned only if no other address would be returned. If the parameter here is true, all
// ranks are on this machine. In this case, wish is ignored, and the result is one loopback address if the
// machine has one.
func meetingAddresses(all []ownAddress, wish string, here bool) ([]netip.Addr, error) {
	networks := Networks(wish)
	var far, near []netip.Addr
	for _, a := range all {
		switch {
		case a.otherwise || wish != "" && !here && !wanted(a, networks):
		case a.loopback:
			near = append(near, a.ip)
		default:
			far = append(far, a.ip)
		}
	}
	if len(far) == 0 {
		far = near
	}
	if here && len(near) > 0 {
		far = near[:1] // with a single address, rank 0 listens at that address only
	}
	if len(far) == 0 {
		of := ""
		if wish != "" && !here {
			of = fmt.Sprintf(" of %s=%q", EnvNet, clip(wish, 80))
		}
		return nil, fmt.Errorf("bootstrap: no network interface of this host is up and has an address%s that is not link-local", of)
	}
	return far[:min(len(far), pointAddressesMax)], nil
}

// wanted reports whether an address belongs to a list of networks, addresses and interfaces, as Networks returns it.
func wanted(a ownAddress, list string) bool {
	return slices.ContainsFunc(strings.Split(list, ","), func(part string) bool {
		part = strings.TrimSpace(part)
		if p, err := netip.ParsePrefix(part); err == nil {
			return p.Contains(a.ip)
		}
		if ip, err := netip.ParseAddr(part); err == nil {
			return ip == a.ip
		}
		index, err := os.ReadFile("/sys/class/net/" + strings.ReplaceAll(part, "/", "") + "/ifindex")
		return err == nil && strings.TrimSpace(string(index)) == strconv.Itoa(a.link)
	})
}
