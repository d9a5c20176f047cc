//go:build linux && !gorun_shm && !portable

package runtime

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"os"

	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/bootstrap"
	"github.com/gorun-hpc/gorun/transport/rdma"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp"
	"github.com/gorun-hpc/gorun/transport/rdma/probe"
)

// Values of bootstrap.EnvRDMADevice that are not the name of an adapter.
const (
	deviceAuto = "auto"
	deviceNone = "none"
)

// rails returns the rails to open. They are the requested adapter of the kernel, all usable adapters or none.
// If the host has a suitable address, iWARP over TCP follows as the last resort. missing has the
// reasons why other adapters or TCP are not among the rails. The argument oneHost is true if all ranks
// are on this host.
func (f *rdmaFabric) rails(oneHost bool, localRank int, c iwarp.Config) (rails []rdma.Rail, missing []string, err error) {
	host := probe.System()
	switch device := os.Getenv(bootstrap.EnvRDMADevice); {
	case os.Getenv(bootstrap.EnvEncrypt) == bootstrap.EncryptYes && (device == "" || device == deviceAuto):
		missing = []string{"an adapter: " + bootstrap.EnvEncrypt + "=" + bootstrap.EncryptYes + ", and traffic through an adapter is not encrypted"}
	case os.Getenv(bootstrap.EnvEncrypt) == bootstrap.EncryptYes && device != deviceNone:
		return nil, nil, fmt.Errorf("rdma: traffic through adapter %s cannot be encrypted (%s=%s): set only one of the two", device, bootstrap.EnvEncrypt, bootstrap.EncryptYes)
	case device == deviceNone:
		missing = []string{"an adapter: " + bootstrap.EnvRDMADevice + "=" + deviceNone}
	case device == "", device == deviceAuto:
		var affinity unix.CPUSet
		_ = unix.SchedGetaffinity(0, &affinity) // after an error, no adapter counts as nearer than another
		var usable []probe.Adapter
		usable, missing = host.Adapters(&affinity, localRank)
		for i := range usable {
			rails = append(rails, rdma.Rail{Provider: f.adapters(), Interface: usable[i].Spelling(), Fabric: usable[i].Fabric, Optional: true})
		}
	default:
		a, _ := host.Adapter(device) // if there is none, Open fails and lists the existing adapters
		rails = append(rails, rdma.Rail{Provider: f.adapters(), Interface: device, Fabric: a.Fabric})
	}
	wish := bootstrap.Networks(os.Getenv(bootstrap.EnvNet))
	asked := wish != ""
	if wish == "" && oneHost {
		wish = "127.0.0.1,::1"
	}
	address, err := host.Network(wish)
	switch {
	case err == nil:
		f.iwarp = iwarp.New(c)
		rails = append(rails, rdma.Rail{Provider: f.iwarp, Interface: address.String(), Fabric: rdma.FabricTCP})
	case len(rails) == 0 || asked:
		return nil, nil, fmt.Errorf("rdma: %w", err)
	default:
		missing = append(missing, fmt.Sprintf("TCP: %v", err))
	}
	return rails, missing, nil
}

// The data of a card is empty if TCP is the only rail of the rank. Otherwise its first byte is the number of the
// rank's last rail, which is the rail of TCP if there is one. After this byte, the data has the fields below for each
// rail except the rail of TCP. An offset with a plus sign counts from the end of the field fabric:
//
//	offset  bytes  field
//	0       1      number of the rail
//	1       1      length f of the name of its fabric
//	2       f      fabric
//	+0      16     IP address (IPv4 mapped)
//	+16     2      port, little endian
//
// The address of the rail of TCP is among the addresses of the card.
const railBytes = 2 + 16 + 2

// fill implements fabric.
func (f *rdmaFabric) fill(c *bootstrap.Card) { publish(c, f.Locations()) }

// publish writes the locations at which a rank listens into the rank's card. It omits rails for which the card
// has no room: peers make no connections to these rails.
func publish(c *bootstrap.Card, list []rdma.Location) {
	for _, l := range list {
		ip := l.Address.Addr().As16()
		if l.Fabric == rdma.FabricTCP {
			c.Provider = iwarp.Name
			c.Addresses = []bootstrap.Address{{IP: ip, Port: l.Address.Port()}}
			continue
		}
		if c.Data == nil {
			c.Data = []byte{list[len(list)-1].Rail}
		}
		if len(l.Fabric) > 255 || len(c.Data)+railBytes+len(l.Fabric) > bootstrap.DataBytesMax {
			continue
		}
		c.Data = append(c.Data, l.Rail, byte(len(l.Fabric)))
		c.Data = append(append(c.Data, l.Fabric...), ip[:]...)
		c.Data = binary.LittleEndian.AppendUint16(c.Data, l.Address.Port())
	}
}

// locationsOf returns the locations at which a rank listens, according to the rank's card.
func locationsOf(c *bootstrap.Card) ([]rdma.Location, error) {
	var list []rdma.Location
	address := func(ip [16]byte, port uint16) netip.AddrPort {
		return netip.AddrPortFrom(netip.AddrFrom16(ip).Unmap(), port)
	}
	last, rails := uint8(0), c.Data
	if len(rails) > 0 {
		last, rails = rails[0], rails[1:]
	}
	for b := rails; len(b) > 0; {
		if len(b) < railBytes || len(b) < railBytes+int(b[1]) {
			return nil, fmt.Errorf("the card of rank %d: its rails are cut short: %w", c.Rank, bootstrap.ErrMalformed)
		}
		n := 2 + int(b[1])
		name, rest := b[2:n], b[n:]
		list = append(list, rdma.Location{Rail: b[0], Fabric: string(name), Address: address([16]byte(rest), binary.LittleEndian.Uint16(rest[16:]))})
		b = rest[18:]
	}
	for _, a := range c.Addresses {
		list = append(list, rdma.Location{Rail: last, Fabric: rdma.FabricTCP, Address: address(a.IP, a.Port)})
	}
	return list, nil
}

// locations returns the locations at which a rank listens. It is the Lookup of rdma.Config.
func (w *World) locations(rank int) ([]rdma.Location, error) {
	if w.session == nil { // in a Local without restarts, where there are no cards
		f, ok := w.local.worlds[rank].network.fabric.(*rdmaFabric)
		if !ok {
			return nil, fmt.Errorf("rank %d has no network", rank)
		}
		return f.Locations(), nil
	}
	card, err := w.card(rank)
	if err != nil {
		return nil, err
	}
	return locationsOf(&card)
}
