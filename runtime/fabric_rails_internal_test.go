//go:build linux && !gorun_shm && !portable

package runtime

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/bootstrap"
	"github.com/gorun-hpc/gorun/transport/rdma"
)

// TestRailsOfACard parses the locations of the adapters (rails) in a card, with TCP as the last
// one, and refuses truncated cards.
func TestRailsOfACard(t *testing.T) {
	ip := [16]byte{10: 0xff, 0xff, 10, 0, 0, 9}
	tcp := []bootstrap.Address{{IP: ip, Port: 99}}
	at := func(rail uint8, fabric, address string) rdma.Location {
		return rdma.Location{Rail: rail, Fabric: fabric, Address: netip.MustParseAddrPort(address)}
	}
	one := append([]byte{0, 4, 'r', 'o', 'c', 'e'}, append(ip[:], 0xb7, 0x12)...)
	two := append(append([]byte{}, one...), append([]byte{1, 2, 'i', 'b'}, append(ip[:], 1, 0)...)...)
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
	for n := 1; n < len(two); n++ {
		if n == len(one) {
			continue
		}
		_, err := locationsOf(&bootstrap.Card{Data: two[:n], Addresses: tcp})
		require.ErrorIs(t, err, bootstrap.ErrMalformed, "%d bytes", n)
	}
}

// FuzzRailsOfACard requires that any card is parsed completely or is refused with ErrMalformed.
func FuzzRailsOfACard(f *testing.F) {
	f.Add([]byte{0, 4, 'r', 'o', 'c', 'e', 10: 1, 23: 9})
	f.Add([]byte{0, 255})
	f.Add([]byte{255, 0, 19: 1})
	f.Add([]byte{0, 255, 274: 1}) // the longest name of a fabric
	f.Fuzz(func(t *testing.T, b []byte) {
		list, err := locationsOf(&bootstrap.Card{Data: b})
		if err != nil {
			require.ErrorIs(t, err, bootstrap.ErrMalformed)
			return
		}
		n := 0
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
