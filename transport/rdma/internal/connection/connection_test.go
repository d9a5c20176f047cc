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

const stands = "established 10.9.0.1:7 10.9.0.2:8"

// kinds runs a test on both kinds of device.
func kinds(t *testing.T, test func(w *world)) {
	t.Helper()
	t.Run("RoCE", func(t *testing.T) { test(newWorld(t, false)) })
	t.Run("iWARP", func(t *testing.T) { test(newWorld(t, true)) })
}

func TestConnects(t *testing.T) {
	kinds(t, func(w *world) {
		p := w.pair()
		local, err := p.Connect(to, asked())
		require.NoError(w, err)
		require.Equal(w, "10.9.0.1:7", local.String())
		require.Equal(w, []byte{2, 0, 0, 0, 10, 9, 0, 1}, w.bodies[resolve][16:24]) // its own address, any port
		require.False(w, p.Contacted())
		w.say(1, rdmacm.AddressResolved, 0, rdmacm.Parameters{})
		w.progress()
		w.say(1, rdmacm.RouteResolved, 0, rdmacm.Parameters{})
		w.progress()
		if w.device.IWARP {
			<-w.woken
			w.progress()
		}
		require.True(w, p.Contacted())
		body := w.bodies[connect]
		require.EqualValues(w, 0x77, binary.NativeEndian.Uint32(body))
		require.Equal(w, "question\x00", string(body[8:17]))
		require.Equal(w, []byte{8, 1, 7, 5, 1, 6, 3, 1}, body[264:272])
		// The peer serves 4 Reads and wants to issue 6. InfiniBand and iWARP report these numbers in
		// different fields.
		e := rdmacm.Parameters{PrivateData: []byte("answer"), ResponderResources: 6, InitiatorDepth: 4}
		steps := []uint32{create, resolve, query, query, route, attributes, connect, attributes, attributes, attributes, accept, query}
		if w.device.IWARP {
			e.ResponderResources, e.InitiatorDepth = 4, 6
			steps = []uint32{create, resolve, query, query, route, attributes, connect, query}
		}
		w.answer(e)
		require.Equal(w, []string{stands}, p.log)
		require.Equal(w, &provider.Proposal{PrivateData: []byte("answer"), ResponderResources: 4, InitiatorDepth: 6}, p.answer)
		require.Equal(w, steps, w.seen)
		var states []rdmacm.State
		for _, a := range p.modified {
			states = append(states, a.State)
			require.EqualValues(w, 5, a.Reads) // the kernel reported 200 and 100
			require.EqualValues(w, 7, a.ReadsServed)
		}
		if w.device.IWARP {
			require.Empty(w, states)
		} else {
			require.Equal(w, []rdmacm.State{rdmacm.StateInit, rdmacm.StateInit, rdmacm.StateReady, rdmacm.StateSend}, states)
			require.Zero(w, binary.NativeEndian.Uint64(w.bodies[accept]))
		}

		p.Disconnect()
		require.Equal(w, uint32(disconnect), w.seen[len(w.seen)-1])
		w.say(1, rdmacm.Disconnected, 0, rdmacm.Parameters{})
		w.say(1, rdmacm.TimewaitExit, 0, rdmacm.Parameters{})
		w.progress()
		require.Equal(w, []string{stands, "take", "flush", "disconnected"}, p.log)
		require.Zero(w, w.ids())
		p.Abort()
		p.Disconnect()
		p.Break(errTest)
		require.Len(w, p.log, 4)
	})
}

// TestEveryCommandFails checks that an attempt reports one failure when any of its commands fails, and that
// nothing is left in the kernel.
func TestEveryCommandFails(t *testing.T) {
	for _, number := range []uint32{route, attributes, connect, accept} {
		kinds(t, func(w *world) {
			if w.device.IWARP && number == accept {
				w.Skip("the active side of iWARP confirms nothing")
			}
			w.errors[number] = unix.EIO
			p := w.requested()
			if w.device.IWARP && number == connect {
				<-w.woken
				w.progress()
			}
			if number == accept {
				w.answer(rdmacm.Parameters{})
			}
			require.Equal(w, []string{"flush", "failed"}, p.log)
			require.Equal(w, provider.FailureRefused, p.why)
			require.ErrorIs(w, p.err, unix.EIO)
			require.Zero(w, w.ids())
		})
	}
	w := newWorld(t, false)
	p := w.pair()
	w.errors[create] = unix.EMFILE
	_, err := p.Connect(to, asked())
	require.ErrorIs(t, err, provider.ErrInsufficientResources)
	require.ErrorIs(t, err, unix.EMFILE)
	delete(w.errors, create)
	w.errors[resolve] = unix.EADDRNOTAVAIL
	_, err = w.pair().Connect(to, asked())
	require.ErrorIs(t, err, provider.ErrInvalidAddress)
	require.ErrorIs(t, err, unix.EADDRNOTAVAIL)
	_, err = w.pair().Connect(netip.MustParseAddrPort("[fe80::2%other]:1"), asked())
	require.ErrorIs(t, err, provider.ErrInvalidAddress)
	w.errors[resolve] = unix.ENETUNREACH
	_, err = p.Connect(to, asked())
	require.NoError(t, err)
	require.Equal(t, []string{"flush", "failed"}, p.log)
	require.Equal(t, provider.FailureUnreachable, p.why)
	require.Zero(t, w.ids())

	delete(w.errors, resolve)
	p = w.pair()
	p.modify = errTest
	_, err = p.Connect(to, asked())
	require.NoError(t, err)
	w.say(w.last, rdmacm.AddressResolved, 0, rdmacm.Parameters{})
	w.say(w.last, rdmacm.RouteResolved, 0, rdmacm.Parameters{})
	w.progress()
	require.ErrorIs(t, p.err, errTest)
	require.Zero(t, w.ids())
}

// TestOutcomes checks how the kernel's events of a failed attempt are reported.
func TestOutcomes(t *testing.T) {
	refused := []byte("gorun refuses\x00\xff\x01")
	padded := append(append([]byte{}, refused...), make([]byte, 100)...)
	tests := []struct {
		name   string
		kind   rdmacm.Kind
		status int32
		data   []byte
		why    provider.Failure
		errno  error
	}{
		{"address", rdmacm.AddressError, -int32(unix.EHOSTUNREACH), nil, provider.FailureUnreachable, unix.EHOSTUNREACH},
		{"route", rdmacm.RouteError, -int32(unix.ETIMEDOUT), nil, provider.FailureUnreachable, unix.ETIMEDOUT},
		{"silent", rdmacm.Unreachable, -int32(unix.ETIMEDOUT), nil, provider.FailureUnreachable, unix.ETIMEDOUT},
		{"error", rdmacm.ConnectError, -int32(unix.EPROTO), nil, provider.FailureRefused, unix.EPROTO},
		{"nobody listens", rdmacm.Rejected, 8, nil, provider.FailureRefused, unix.ECONNREFUSED},
		{"consumer", rdmacm.Rejected, 28, []byte("no"), provider.FailureRejected, unix.ECONNREFUSED},
		{"consumer on iWARP", rdmacm.Rejected, -int32(unix.ECONNRESET), []byte("no"), provider.FailureRejected, unix.ECONNRESET},
		{"provider", rdmacm.Rejected, 28, padded, provider.FailureRefused, unix.ECONNREFUSED},
		{"provider on iWARP", rdmacm.Rejected, -int32(unix.ECONNRESET), refused, provider.FailureRefused, unix.ECONNRESET},
		{"not quite", rdmacm.Rejected, 28, append(padded, 1), provider.FailureRejected, unix.ECONNREFUSED},
		{"consumer on hardware iWARP", rdmacm.Rejected, -int32(unix.ECONNREFUSED), []byte("no"), provider.FailureRejected, unix.ECONNREFUSED},
		{"provider on hardware iWARP", rdmacm.Rejected, -int32(unix.ECONNREFUSED), refused, provider.FailureRefused, unix.ECONNREFUSED},
		{"refused on iWARP", rdmacm.Rejected, -int32(unix.ECONNREFUSED), nil, provider.FailureRefused, unix.ECONNREFUSED},
		{"removed", rdmacm.DeviceRemoval, 0, nil, provider.FailureRefused, unix.ENODEV},
		{"ends early", rdmacm.Disconnected, 0, nil, provider.FailureRefused, unix.ECONNRESET},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, false)
			p := w.requested()
			w.say(w.last, rdmacm.Kind(99), 0, rdmacm.Parameters{}) // an event of an unknown kind
			w.say(w.last, test.kind, test.status, rdmacm.Parameters{PrivateData: test.data})
			w.progress()
			require.Equal(t, []string{"flush", "failed"}, p.log)
			require.Equal(t, test.why, p.why)
			require.ErrorIs(t, p.err, test.errno)
			if test.why == provider.FailureRejected {
				require.Equal(t, test.data, p.data)
			} else {
				require.Empty(t, p.data)
			}
			require.Zero(t, w.ids())
			if test.kind == rdmacm.DeviceRemoval {
				require.Equal(t, provider.EventRemoved, w.happened[0].Kind)
			} else {
				require.Empty(t, w.happened)
			}
		})
	}
	for errno, why := range map[error]provider.Failure{
		unix.ECONNREFUSED: provider.FailureRefused, unix.ETIMEDOUT: provider.FailureUnreachable, unix.EHOSTUNREACH: provider.FailureUnreachable,
	} {
		w := newWorld(t, true)
		w.errors[connect] = errno
		p := w.requested()
		<-w.woken
		w.progress()
		require.Equal(t, why, p.why, errno)
		require.ErrorIs(t, p.err, errno)
		require.False(t, p.Contacted())
	}
	w := newWorld(t, true)
	p := w.requested()
	<-w.woken
	w.progress()
	w.say(w.last, rdmacm.Unreachable, -int32(unix.ETIMEDOUT), rdmacm.Parameters{})
	w.progress()
	require.Equal(t, provider.FailureTimedOut, p.why) // the TCP connection was established
}

// TestEnds checks every event by which an established connection can end, and that the end is reported once.
func TestEnds(t *testing.T) {
	established := func(t *testing.T) (*world, *pair) {
		t.Helper()
		w := newWorld(t, false)
		p := w.requested()
		w.answer(rdmacm.Parameters{})
		p.log = nil
		return w, p
	}
	t.Run("abort", func(t *testing.T) {
		w, p := established(t)
		w.say(w.last, rdmacm.Disconnected, 0, rdmacm.Parameters{})
		p.Abort()
		w.progress()
		require.Equal(t, []string{"flush"}, p.log)
		require.Zero(t, w.ids())
	})
	t.Run("the peer", func(t *testing.T) {
		w, p := established(t)
		w.say(w.last, rdmacm.Disconnected, 0, rdmacm.Parameters{})
		w.progress()
		require.Equal(t, []string{"take", "flush", "disconnected"}, p.log)
		require.Contains(t, w.seen, uint32(disconnect)) // the peer waits for this answer
	})
	t.Run("no answer", func(t *testing.T) {
		w, p := established(t)
		p.Disconnect()
		w.say(w.last, rdmacm.Disconnected, -int32(unix.ETIMEDOUT), rdmacm.Parameters{})
		w.progress()
		require.Equal(t, []string{"take", "flush", "broken"}, p.log)
		require.ErrorIs(t, p.err, unix.ETIMEDOUT)
	})
	t.Run("the queue pair", func(t *testing.T) {
		w, p := established(t)
		p.Break(errTest)
		require.Equal(t, []string{"flush", "broken"}, p.log)
		require.Equal(t, errTest, p.err)
		require.Zero(t, w.ids())
	})
	t.Run("the queue pair, found at the end", func(t *testing.T) {
		w, p := established(t)
		p.taking = func() { p.Break(errTest) }
		w.say(w.last, rdmacm.Disconnected, 0, rdmacm.Parameters{})
		w.progress()
		require.Equal(t, []string{"take", "flush", "broken"}, p.log)
	})
	t.Run("the device", func(t *testing.T) {
		w, p := established(t)
		w.say(w.last, rdmacm.DeviceRemoval, 0, rdmacm.Parameters{})
		w.progress()
		require.Equal(t, []string{"flush", "broken"}, p.log)
		require.ErrorIs(t, p.err, unix.ENODEV)
	})
	t.Run("depths", func(t *testing.T) {
		w := newWorld(t, false)
		p := w.requested()
		p.refuse = errTest
		w.answer(rdmacm.Parameters{})
		require.Equal(t, []string{stands, "flush"}, p.log)
		require.Zero(t, w.ids())
	})
}

// TestAbortWhileConnecting aborts an attempt while a command blocks in the kernel: the command connect of siw
// waits for the TCP connection, and the command destroy waits for the peer's answer. The test checks that
// Abort and Progress do not wait.
func TestAbortWhileConnecting(t *testing.T) {
	for _, test := range []struct {
		blocks uint32
		err    error
	}{{connect, nil}, {connect, unix.ECONNREFUSED}, {destroy, nil}} {
		w := newWorld(t, true)
		w.blocked, w.blocks = make(chan struct{}), test.blocks
		w.errors[connect] = test.err
		p := w.requested()
		if test.blocks == destroy {
			<-w.woken
			w.progress()
		}
		p.Abort()
		require.True(t, p.Busy())
		require.Equal(t, []string{"flush"}, p.log)
		w.say(w.last, rdmacm.Established, 0, rdmacm.Parameters{})
		w.progress()
		require.Equal(t, 1, w.ids())
		close(w.blocked)
		require.Eventually(t, func() bool { return !p.Busy() }, patience, 1e6)
		require.Zero(t, w.ids())
		w.progress()
		require.Equal(t, []string{"flush"}, p.log)
		require.Empty(t, w.woken)
	}
}

// TestSource checks the source address of a connection: an address in the network of the destination, or else the
// first address of the same kind.
func TestSource(t *testing.T) {
	for remote, want := range map[string][]byte{
		"10.9.0.2:1":          {2, 0, 0, 0, 10, 9, 0, 1},
		"192.0.2.1:1":         {2, 0, 0, 0, 10, 9, 0, 1},
		"[::ffff:10.9.0.2]:1": {2, 0, 0, 0, 10, 9, 0, 1},
		"[fd00::2]:1":         {10, 0, 0, 0, 0, 0, 0, 0, 0xfd},
		"[fe80::2%lo]:1":      {10, 0, 0, 0, 0, 0, 0, 0, 0xfe, 0x80},
	} {
		w := newWorld(t, false)
		w.device.Interface = "lo"
		_, err := w.pair().Connect(netip.MustParseAddrPort(remote), asked())
		require.NoError(t, err)
		require.Equal(t, want, w.bodies[resolve][16:16+len(want)], remote)
	}
}

// TestOtherDevice checks that an address that leads to another device is not used.
func TestOtherDevice(t *testing.T) {
	w := newWorld(t, false)
	w.guid++
	p := w.pair()
	_, err := p.Connect(to, asked())
	require.NoError(t, err)
	w.say(w.last, rdmacm.AddressResolved, 0, rdmacm.Parameters{})
	w.progress()
	require.Equal(t, []string{"flush", "failed"}, p.log)
	require.ErrorIs(t, p.err, provider.ErrInvalidAddress)
	require.ErrorContains(t, p.err, "is of the device with GUID 0000000000000212, not of this one with 0000000000000211")
	_, err = w.device.Listen(provider.ServicePointConfig{})
	require.ErrorIs(t, err, provider.ErrInvalidAddress)
	require.Zero(t, w.ids())
}

// TestQuiet checks a device whose connections are all established. The device may ask the kernel for events
// in only some rounds, but it must process an event within 100 rounds. Rounds without an event must not
// allocate memory.
func TestQuiet(t *testing.T) {
	w := newWorld(t, false)
	p := w.requested()
	_, err := w.device.Progress()
	require.NoError(t, err)
	w.say(w.last, rdmacm.ConnectResponse, 0, rdmacm.Parameters{})
	n, err := w.device.Progress() // this round asks, because an answer is expected
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Equal(t, []string{stands}, p.log)
	p.log = nil
	require.Zero(t, testing.AllocsPerRun(1000, func() { _, _ = w.device.Progress() }))
	w.say(w.last, rdmacm.Disconnected, 0, rdmacm.Parameters{})
	rounds := 0
	for ; len(p.log) == 0; rounds++ {
		_, err := w.device.Progress()
		require.NoError(t, err)
		require.Less(t, rounds, 100)
	}
	w.say(0, rdmacm.AddressChange, 0, rdmacm.Parameters{}) // without an ID
	w.progress()
	require.Empty(t, w.happened)
	w.errors[next] = unix.EIO
	w.device.Stir()
	w.say(0, rdmacm.AddressChange, 0, rdmacm.Parameters{})
	_, err = w.device.Progress()
	require.ErrorIs(t, err, unix.EIO)
}
