//go:build linux && !gorun_shm && !portable

package runtime

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/bootstrap"
	"github.com/gorun-hpc/gorun/transport/rdma"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp"
)

// TestRailsOfACard parses the locations of the adapters (rails) in a card, with TCP as the last
// one, and refuses truncated cards.
func TestRailsOfACard(t *testing.T) {
	ip := [16]byte{10: 0xff, 0xff, 10, 0, 0, 9}
	tcp := []bootstrap.Address{{IP: ip, Port: 99}}
	at := func(rail uint8, fabric, address string) rdma.Location {
		return rdma.Location{Rail: rail, Fabric: fabric, Address: netip.MustParseAddrPort(address)}
	}
	one := append([]byte{1, 0, 4, 'r', 'o', 'c', 'e'}, append(ip[:], 0xb7, 0x12)...)
	two := append(append([]byte{2}, one[1:]...), append([]byte{1, 2, 'i', 'b'}, append(ip[:], 1, 0)...)...)
	for _, c := range []struct {
		data []byte
		want []rdma.Location
	}{
		{nil, []rdma.Location{at(0, "tcp", "10.0.0.9:99")}},
		{one, []rdma.Location{at(0, "roce", "10.0.0.9:4791"), at(1, "tcp", "10.0.0.9:99")}},
		{two, []rdma.Location{at(0, "roce", "10.0.0.9:4791"), at(1, "ib", "10.0.0.9:1"), at(2, "tcp", "10.0.0.9:99")}},
	} {
		got, err := locationsOf(&bootstrap.Card{Data: c.data, Addresses: tcp})
		require.NoError(t, err)
		require.Equal(t, c.want, got)
	}
	for n := 2; n < len(two); n++ {
		if n == len(one) {
			continue
		}
		_, err := locationsOf(&bootstrap.Card{Data: two[:n], Addresses: tcp})
		require.ErrorIs(t, err, bootstrap.ErrMalformed, "%d bytes", n)
	}
}

// TestRailsInACardKeepTheirNumbers publishes more rails than a card has room for. The card must contain as many as
// fit, and every rail in it, TCP as the last one included, must keep its number.
func TestRailsInACardKeepTheirNumbers(t *testing.T) {
	for _, adapters := range []int{0, 1, 20, 255} {
		var all []rdma.Location
		for i := range adapters {
			all = append(all, rdma.Location{Rail: uint8(i), Fabric: "ib-fe80000000000000", Address: netip.MustParseAddrPort("10.0.0.9:4791")})
		}
		tcp := rdma.Location{Rail: uint8(adapters), Fabric: rdma.FabricTCP, Address: netip.MustParseAddrPort("10.0.0.9:99")}
		var card bootstrap.Card
		publish(&card, append(all, tcp))
		got, err := locationsOf(&card)
		require.NoError(t, err)
		fit := min(adapters, (bootstrap.DataBytesMax-1)/(railBytes+len("ib-fe80000000000000")))
		require.Equal(t, append(all[:fit:fit], tcp), got, "%d adapters", adapters)
	}
}

// TestNetworkInIPv6Form sets GORUN_NET to the IPv6 form of an IPv4 network. The rank must use its address in that
// network.
func TestNetworkInIPv6Form(t *testing.T) {
	t.Setenv(bootstrap.EnvRDMADevice, deviceNone)
	for _, networks := range []string{"nosuch0, ::ffff:127.0.0.0/104", "::ffff:127.0.0.1"} {
		t.Setenv(bootstrap.EnvNet, networks)
		rails, _, err := new(rdmaFabric).rails(false, 0, iwarp.Config{})
		require.NoError(t, err, networks)
		require.Len(t, rails, 1)
		require.Equal(t, "127.0.0.1", rails[0].Interface)
	}
}

// FuzzRailsOfACard requires that any card is parsed completely or is refused with ErrMalformed.
func FuzzRailsOfACard(f *testing.F) {
	f.Add([]byte{1, 0, 4, 'r', 'o', 'c', 'e', 11: 1, 24: 9})
	f.Add([]byte{1, 0, 255})
	f.Add([]byte{1, 255, 0, 20: 1})
	f.Add([]byte{1, 0, 255, 275: 1}) // the longest name of a fabric
	f.Fuzz(func(t *testing.T, b []byte) {
		list, err := locationsOf(&bootstrap.Card{Data: b})
		if err != nil {
			require.ErrorIs(t, err, bootstrap.ErrMalformed)
			return
		}
		n := min(len(b), 1)
		for _, l := range list {
			n += railBytes + len(l.Fabric)
		}
		require.Equal(t, len(b), n)
	})
}

// TestDeviceNone: with GORUN_RDMA_DEVICE=none ranks use TCP, Explain says so, and the card contains
// no adapter.
func TestDeviceNone(t *testing.T) {
	t.Setenv(bootstrap.EnvTransport, transportRDMA)
	t.Setenv(bootstrap.EnvRDMADevice, deviceNone)
	require.NoError(t, Local(2, func(w *World) error {
		c := w.Comm()
		if w.Rank() == 0 {
			require.NoError(t, Send(c, []byte{1}, 1, 1))
		} else if _, err := Recv(c, make([]byte, 1), 0, 1); err != nil {
			return err
		}
		require.Contains(t, w.Explain(1-w.Rank()), "; not an adapter: GORUN_RDMA_DEVICE=none; not shm")
		card := bootstrap.Card{}
		w.network.fill(&card)
		require.Equal(t, "iwarp", card.Provider)
		require.Len(t, card.Addresses, 1)
		require.Empty(t, card.Data)
		return nil
	}))
}
