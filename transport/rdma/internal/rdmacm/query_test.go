package rdmacm_test

import (
	"bytes"
	"encoding/binary"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/rdmacm"
)

// loopback returns the loopback interface. Tests use its name as the zone of link-local
// addresses.
func loopback(t *testing.T) *net.Interface {
	t.Helper()
	all, err := net.Interfaces()
	require.NoError(t, err)
	for i := range all {
		if all[i].Flags&net.FlagLoopback != 0 {
			return &all[i]
		}
	}
	t.Skip("there is no loopback interface, whose name an IPv6 zone could have")
	return nil
}

// socket4 and socket6 return socket addresses in the kernel's layout.
func socket4(port uint16, ip ...byte) []byte {
	b := binary.NativeEndian.AppendUint16(nil, unix.AF_INET)
	b = binary.BigEndian.AppendUint16(b, port)
	return append(b, ip...)
}

func socket6(port uint16, ip netip.Addr, scope uint32) []byte {
	b := binary.NativeEndian.AppendUint16(nil, unix.AF_INET6)
	b = append(binary.BigEndian.AppendUint16(b, port), 0, 0, 0, 0)
	b = append(b, ip.AsSlice()...)
	return binary.NativeEndian.AppendUint32(b, scope)
}

func TestAddressesGoOut(t *testing.T) {
	lo := loopback(t)
	linkLocal := netip.MustParseAddr("fe80::1")
	tests := []struct {
		address string
		want    []byte
		size    int
	}{
		{"10.9.0.1:7174", socket4(7174, 10, 9, 0, 1), 16},
		{"[::ffff:10.9.0.1]:1", socket4(1, 10, 9, 0, 1), 16},
		{"[2001:db8::5]:65535", socket6(65535, netip.MustParseAddr("2001:db8::5"), 0), 28},
		{"[fe80::1%" + lo.Name + "]:7", socket6(7, linkLocal, uint32(lo.Index)), 28},
		{"[fe80::1%77]:7", socket6(7, linkLocal, 77), 28},
	}
	for _, test := range tests {
		t.Run(test.address, func(t *testing.T) {
			u := newUcma()
			id, err := rdmacm.New(u).Create(nil)
			require.NoError(t, err)
			a := netip.MustParseAddrPort(test.address)
			require.NoError(t, id.Bind(a))
			body := u.seen[1].Body
			require.EqualValues(t, test.size, binary.NativeEndian.Uint16(body[4:]))
			require.Equal(t, test.want, body[8:8+len(test.want)])

			require.NoError(t, id.ResolveAddress(netip.AddrPort{}, a, 1500*time.Microsecond))
			body = u.seen[2].Body
			require.EqualValues(t, 1, binary.NativeEndian.Uint32(body[4:]))
			require.Zero(t, binary.NativeEndian.Uint16(body[8:]))
			require.EqualValues(t, test.size, binary.NativeEndian.Uint16(body[10:]))
			require.Equal(t, test.want, body[144:144+len(test.want)])

			require.NoError(t, id.ResolveAddress(a, a, 0))
			body = u.seen[3].Body
			require.EqualValues(t, 1, binary.NativeEndian.Uint32(body[4:])) // 0 would mean no timeout
			require.EqualValues(t, test.size, binary.NativeEndian.Uint16(body[8:]))
			require.Equal(t, test.want, body[16:16+len(test.want)])
		})
	}
	u := newUcma()
	id, err := rdmacm.New(u).Create(nil)
	require.NoError(t, err)
	err = id.Bind(netip.MustParseAddrPort("[fe80::1%nosuch]:7"))
	require.ErrorIs(t, err, unix.EADDRNOTAVAIL)
	require.ErrorContains(t, err, `rdma_cm: bind id 1 [fe80::1%nosuch]:7: cannot assign requested address: zone "nosuch"`)
	require.ErrorIs(t, id.ResolveAddress(netip.AddrPort{}, netip.AddrPort{}, time.Second), unix.EADDRNOTAVAIL)
	require.Len(t, u.seen, 1)
	u.errors[20] = unix.ENODEV
	require.EqualError(t, id.Bind(netip.MustParseAddrPort("192.0.2.1:7")),
		"rdma_cm: bind id 1 192.0.2.1:7: no such device (no RDMA device has this address or a route to it; the command rdma link lists the devices)")
}

// answerOf returns a struct rdma_ucm_query_addr_resp.
func answerOf(source, destination []byte) []byte {
	b := []byte{0x02, 0x11, 0x22, 0xff, 0xfe, 0x33, 0x44, 0x55, 3, 0, 0xff, 0xfe}
	b = binary.NativeEndian.AppendUint16(b, uint16(len(source)))
	b = binary.NativeEndian.AppendUint16(b, uint16(len(destination)))
	b = append(b, source...)
	b = append(b, make([]byte, 144-len(b))...)
	b = append(b, destination...)
	b = append(b, make([]byte, 272-len(b))...)
	return binary.NativeEndian.AppendUint64(b, 12)
}

func TestAddressesComeBack(t *testing.T) {
	lo := loopback(t)
	u := newUcma()
	id, err := rdmacm.New(u).Create(nil)
	require.NoError(t, err)
	linkLocal := netip.MustParseAddr("fe80::1")
	u.answers[query] = answerOf(socket6(7, linkLocal, uint32(lo.Index)), socket6(8, linkLocal, 999999))
	a, err := id.Addresses()
	require.NoError(t, err)
	require.Equal(t, rdmacm.Addresses{
		Source: netip.MustParseAddrPort("[fe80::1%" + lo.Name + "]:7"), Destination: netip.MustParseAddrPort("[fe80::1%999999]:8"),
		NodeGUID: 0x021122fffe334455,
	}, a)

	full := answerOf(socket4(7174, 10, 9, 0, 1), socket4(80, 10, 9, 0, 2))
	for n := range len(full) + 1 {
		u.answers[query] = full[:n]
		a, err := id.Addresses()
		require.NoError(t, err)
		require.Equal(t, n > 16, a.Source.IsValid(), n) // the byte at offset 16 determines the address family
		require.Equal(t, n > 144, a.Destination.IsValid(), n)
	}
	u.answers[query] = full
	a, err = id.Addresses()
	require.NoError(t, err)
	require.Equal(t, "10.9.0.1:7174 10.9.0.2:80", a.Source.String()+" "+a.Destination.String())

	u.answers[query] = answerOf(nil, nil)
	a, err = id.Addresses()
	require.NoError(t, err)
	require.False(t, a.Source.IsValid() || a.Destination.IsValid())

	for _, foreign := range [][]byte{answerOf([]byte{27, 0}, nil), answerOf(nil, []byte{27, 0})} { // AF_IB
		u.answers[query] = foreign
		_, err = id.Addresses()
		require.ErrorIs(t, err, unix.EAFNOSUPPORT)
		require.ErrorContains(t, err, "rdma_cm: query addresses id 1: ")
	}
}

// wireAttributes is struct ib_uverbs_qp_attr.
type wireAttributes struct {
	Mask, State, Current, PathMTU, PathMig, QKey, RQPSN, SQPSN, Destination, Access uint32

	Address, Alternate wireAddressHandle
	Caps               [5]uint32
	PKeyIndex, AltPKey uint16
	Notify, Draining   uint8
	Reads, Served      uint8
	MinRNR, Port       uint8
	Timeout, Retry     uint8
	RNRRetry           uint8
	Rest               [7]uint8
}

// wireAddressHandle is struct ib_uverbs_ah_attr.
type wireAddressHandle struct {
	DGID                             [16]byte
	FlowLabel                        uint32
	SGIDIndex, HopLimit, Class, Pad  uint8
	DLID                             uint16
	SL, SourcePath, Rate, Global, In uint8
	Reserved                         uint8
}

func TestAttributes(t *testing.T) {
	u := newUcma()
	id, err := rdmacm.New(u).Create(nil)
	require.NoError(t, err)
	b := make([]byte, 144)
	for i := range b {
		b[i] = byte(i + 100)
	}
	b[4*0], b[1], b[2], b[3] = 0x81, 0x99, 0xff, 0 // bits that have no meaning for programs
	for n := range len(b) + 1 {
		u.answers[11] = b[:n]
		a, err := id.Attributes(rdmacm.StateReady)
		require.NoError(t, err)
		whole := make([]byte, 144)
		copy(whole, b[:n])
		var w wireAttributes
		require.NoError(t, binary.Read(bytes.NewReader(whole), binary.NativeEndian, &w))
		require.Equal(t, rdmacm.Attributes{
			Mask: w.Mask & 0x1fffff, State: rdmacm.State(w.State), PathMTU: w.PathMTU, QKey: w.QKey, ReceivePSN: w.RQPSN, SendPSN: w.SQPSN,
			DestinationQP: w.Destination, Access: w.Access, PKeyIndex: w.PKeyIndex, Reads: w.Reads, ReadsServed: w.Served,
			MinRNRTimer: w.MinRNR, Port: w.Port, Timeout: w.Timeout, RetryCount: w.Retry, RNRRetryCount: w.RNRRetry,
			Address: rdmacm.AddressHandle{
				DGID: w.Address.DGID, FlowLabel: w.Address.FlowLabel, SGIDIndex: w.Address.SGIDIndex, HopLimit: w.Address.HopLimit,
				TrafficClass: w.Address.Class, DLID: w.Address.DLID, ServiceLevel: w.Address.SL, SourcePathBits: w.Address.SourcePath,
				StaticRate: w.Address.Rate, Global: w.Address.Global != 0, Port: w.Address.In,
			},
		}, a, n)
	}
	require.EqualValues(t, 2, binary.NativeEndian.Uint32(u.seen[len(u.seen)-1].Body[12:]))
}

// TestBodies checks the bytes of the commands that have no answer.
func TestBodies(t *testing.T) {
	u := newUcma()
	id, err := rdmacm.New(u).Create(nil)
	require.NoError(t, err)
	require.NoError(t, id.Listen(-1))
	require.NoError(t, id.NotifyEstablished())
	require.NoError(t, id.Disconnect())
	require.NoError(t, id.ResolveRoute(2*time.Second))
	require.NoError(t, id.Reject([]byte("no")))
	tail := u.seen[1:]
	require.Equal(t, []byte{1, 0, 0, 0, 0, 0, 0, 0}, tail[0].Body)
	require.Equal(t, []byte{1, 0, 0, 0, 4, 0, 0, 0}, tail[1].Body)
	require.Equal(t, []byte{1, 0, 0, 0}, tail[2].Body)
	require.EqualValues(t, 2000, binary.NativeEndian.Uint32(tail[3].Body[4:]))
	require.Equal(t, append([]byte{1, 0, 0, 0, 2, 0, 0, 0}, "no\x00"...), tail[4].Body[:11])
	require.Len(t, tail[4].Body, 264)
}
