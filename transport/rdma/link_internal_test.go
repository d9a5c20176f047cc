package rdma

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/credit"
)

// TestControlFramesHavePlacesOfTheirOwn checks that control frames that are in flight at the same time use
// different memory, so that none overwrites another.
func TestControlFramesHavePlacesOfTheirOwn(t *testing.T) {
	x := newExposedTest(t)
	control, ok, err := x.t.rails[0].sends.take(controlBytes)
	require.NoError(t, err)
	require.True(t, ok)
	l := &link{rail: x.t.rails[0], control: control, broken: true} // broken, so that nothing is posted
	kinds := []frameKind{frameBye, frameByeAck}
	for range credit.UpdateReserve {
		kinds = append(kinds, frameUpdate)
	}
	require.Len(t, kinds, controlFrames)
	for i, k := range kinds {
		x.t.sendControl(l, credit.Word(i), k, i%2 == 0)
	}
	found := map[head]bool{}
	for i := range controlFrames {
		h, err := parseHead(x.t.rails[0].sends.bytes(&control)[i*headBytes : (i+1)*headBytes])
		require.NoError(t, err)
		found[h] = true
	}
	for i, k := range kinds {
		require.True(t, found[head{credit.Word(i), k, i%2 == 0}], "frame %d", i)
	}
}

// TestZoned checks which addresses of peers get a zone. Addresses of peers come without a zone. Only link-local
// IPv6 addresses need a zone, and they get the zone of the rank's own interface.
func TestZoned(t *testing.T) {
	for _, c := range []struct{ address, zone, want string }{
		{"fe80::1", "eth0", "fe80::1%eth0"},
		{"fe80::1", "", "fe80::1"},
		{"fd00::1", "eth0", "fd00::1"},
		{"::1", "lo", "::1"},
		{"169.254.1.1", "eth0", "169.254.1.1"},
		{"10.0.0.1", "eth0", "10.0.0.1"},
	} {
		require.Equal(t, c.want, zoned(netip.AddrPortFrom(netip.MustParseAddr(c.address), 7), c.zone).Addr().String())
	}
}
