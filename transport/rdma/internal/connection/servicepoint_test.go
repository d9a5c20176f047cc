package connection_test

import (
	"encoding/binary"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/rdmacm"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// arrival is a connection request that has arrived.
type arrival struct {
	provider.Handshake
	local, remote netip.AddrPort
	proposal      provider.Proposal
}

// listening returns a service point, and the number that the kernel has given it.
func (w *world) listening(refuse *error, all *[]arrival) (provider.ServicePoint, uint32) {
	w.Helper()
	s, err := w.device.Listen(provider.ServicePointConfig{
		Backlog: 3, Arrived: func(h provider.Handshake, local, remote netip.AddrPort, p *provider.Proposal) error {
			*all = append(*all, arrival{h, local, remote, *p})
			return *refuse
		},
	})
	require.NoError(w, err)
	return s, w.last
}

func TestAccepts(t *testing.T) {
	kinds(t, func(w *world) {
		var all []arrival
		var refuse error
		s, number := w.listening(&refuse, &all)
		require.Equal(w, "10.9.0.1:7", s.Address().String())
		require.Equal(w, []byte{2, 0, 0, 0, 10, 9, 0, 1}, w.bodies[bind][8:16])
		require.EqualValues(w, 128, binary.NativeEndian.Uint32(w.bodies[listen][4:])) // Arrived enforces the limit of 3
		w.say(number, rdmacm.ConnectRequest, 0, rdmacm.Parameters{PrivateData: []byte("question"), ResponderResources: 5, InitiatorDepth: 7, RetryCount: 6, RNRRetryCount: 3})
		w.progress()
		require.Len(w, all, 1)
		require.Equal(w, "10.9.0.1:7 10.9.0.2:8", all[0].local.String()+" "+all[0].remote.String())
		require.Equal(w, provider.Proposal{PrivateData: []byte("question"), ResponderResources: 7, InitiatorDepth: 5, RetryCount: 6, RNRRetryCount: 3}, all[0].proposal)
		s.Close()
		p := w.pair()
		all[0].Accept(p, &provider.Proposal{PrivateData: []byte("answer"), ResponderResources: 5, InitiatorDepth: 6})
		body := w.bodies[accept]
		require.Equal(w, "answer\x00", string(body[16:23]))
		require.Equal(w, []byte{6, 1, 5, 6}, body[272:276])
		require.Empty(w, p.log)
		for i, a := range p.modified { // the agreed depths, not the depths of the request
			require.EqualValues(w, 5, a.ReadsServed, i)
			require.EqualValues(w, 6, a.Reads, i)
		}
		p.Heard()
		require.EqualValues(w, 4, binary.NativeEndian.Uint32(w.bodies[notify][4:]))
		w.say(number+1, rdmacm.Established, 0, rdmacm.Parameters{})
		w.progress()
		require.Equal(w, []string{stands}, p.log)
		require.Nil(w, p.answer)
		p.Abort()
		require.Zero(w, w.ids())
	})
}

// TestAcceptFails checks that an accept fails if the peer has ended its request before the accept, or
// ends it during the accept.
func TestAcceptFails(t *testing.T) {
	for _, number := range []uint32{attributes, accept, 0} {
		w := newWorld(t, false)
		var all []arrival
		var refuse error
		_, listener := w.listening(&refuse, &all)
		w.say(listener, rdmacm.ConnectRequest, 0, rdmacm.Parameters{})
		w.progress()
		p := w.pair()
		if number != 0 {
			w.errors[number] = unix.EINVAL
		}
		all[0].Accept(p, asked())
		if number == 0 {
			w.say(listener+1, rdmacm.ConnectError, -int32(unix.ETIMEDOUT), rdmacm.Parameters{})
			w.progress()
		}
		require.Equal(t, []string{"flush", "failed"}, p.log)
		require.Equal(t, 1, w.ids()) // the listener
	}
}

func TestRejects(t *testing.T) {
	w := newWorld(t, true)
	var all []arrival
	var refuse error
	_, listener := w.listening(&refuse, &all)
	w.say(listener, rdmacm.ConnectRequest, 0, rdmacm.Parameters{})
	w.progress()
	// The first revision of MPA carries no depths.
	require.Equal(t, provider.DepthDefault, all[0].proposal.ResponderResources)
	require.Equal(t, provider.DepthDefault, all[0].proposal.InitiatorDepth)
	all[0].Reject([]byte("no"))
	require.Equal(t, []byte{2, 0, 0, 0, 'n', 'o', 0}, w.bodies[reject][4:11])
	require.Equal(t, 1, w.ids())
	refuse = errTest
	w.say(listener, rdmacm.ConnectRequest, 0, rdmacm.Parameters{})
	w.progress()
	require.Equal(t, "gorun refuses\x00\xff\x01\x00", string(w.bodies[reject][8:25]))
	require.EqualValues(t, 16, w.bodies[reject][4])
	require.Equal(t, 1, w.ids())
	w.say(listener, rdmacm.AddressChange, 0, rdmacm.Parameters{})
	w.say(listener, rdmacm.DeviceRemoval, 0, rdmacm.Parameters{})
	w.progress()
	require.Equal(t, provider.EventAddressChanged, w.happened[0].Kind)
	require.Equal(t, provider.EventRemoved, w.happened[1].Kind)
}

// TestListenFails checks that a failed listen leaves nothing in the kernel.
func TestListenFails(t *testing.T) {
	for _, test := range []struct {
		number uint32
		errno  unix.Errno
		fault  provider.Fault
	}{
		{create, unix.EMFILE, provider.ErrInsufficientResources},
		{bind, unix.EADDRNOTAVAIL, provider.ErrInvalidAddress},
		{bind, unix.EADDRINUSE, provider.ErrInsufficientResources},
		{listen, unix.EADDRINUSE, provider.ErrInsufficientResources},
	} {
		w := newWorld(t, false)
		w.errors[test.number] = test.errno
		_, err := w.device.Listen(provider.ServicePointConfig{Address: to})
		require.ErrorIs(t, err, test.fault)
		require.ErrorIs(t, err, test.errno)
		require.Zero(t, w.ids())
	}
}

func TestLimits(t *testing.T) {
	a, b, c := newWorld(t, false).device.Limits()
	require.Equal(t, []int{56, 196, 148}, []int{a, b, c})
	a, b, c = newWorld(t, true).device.Limits()
	require.Equal(t, []int{251, 251, 251}, []int{a, b, c})
}
