package connection_test

import (
	"bytes"
	"net"
	"net/netip"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/connection"
	"github.com/gorun-hpc/gorun/transport/rdma/internal/rdmacm"
	"github.com/gorun-hpc/gorun/transport/rdma/internal/uverbs"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// host is an opened device of the kernel.
type host struct {
	*testing.T
	*connection.Device
	addresses []netip.Prefix
	wakeup    int
	context   *uverbs.Context
	domain    *uverbs.ProtectionDomain
	queue     *uverbs.CompletionQueue
	arrivals  []arrival
	refuse    error
}

func newHost(t *testing.T) *host {
	t.Helper()
	name := os.Getenv(deviceName)
	if name == "" {
		t.Skip("runs in a guest machine: see TestKernel")
	}
	devices, err := uverbs.Devices()
	require.NoError(t, err)
	at := slices.IndexFunc(devices, func(d uverbs.Device) bool { return d.Name == name })
	require.GreaterOrEqual(t, at, 0, "the kernel has no device %s", name)
	d := &devices[at]
	h := &host{T: t}
	h.wakeup, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	require.NoError(t, err)
	h.context, err = uverbs.Open(d)
	require.NoError(t, err)
	h.domain, err = h.context.NewProtectionDomain()
	require.NoError(t, err)
	h.queue, err = h.context.NewCompletionQueue(16, nil)
	require.NoError(t, err)
	i, err := net.InterfaceByName(os.Getenv(deviceInterface))
	require.NoError(t, err)
	list, err := i.Addrs()
	require.NoError(t, err)
	for _, a := range list {
		p := netip.MustParsePrefix(a.String())
		h.addresses = append(h.addresses, p)
	}
	channel, err := rdmacm.Open()
	require.NoError(t, err)
	h.Device = connection.New(connection.Config{
		Channel: channel, GUID: d.GUID, IWARP: d.Transport == uverbs.TransportIWARP, Addresses: h.addresses, Interface: i.Name,
		Wake:     func() { _, _ = unix.Write(h.wakeup, []byte{1, 0, 0, 0, 0, 0, 0, 0}) },
		Happened: func(e provider.Event) { t.Error(e) },
	})
	t.Cleanup(func() {
		require.NoError(t, h.Close())
		require.NoError(t, h.queue.Close())
		require.NoError(t, h.domain.Close())
		require.NoError(t, h.context.Close())
		require.NoError(t, unix.Close(h.wakeup))
	})
	return h
}

// listen accepts requests at an address.
func (h *host) listen(ip netip.Addr) provider.ServicePoint {
	h.Helper()
	s, err := h.Listen(provider.ServicePointConfig{
		Address: netip.AddrPortFrom(ip, 0), Backlog: 4,
		Arrived: func(s provider.Handshake, local, remote netip.AddrPort, p *provider.Proposal) error {
			h.arrivals = append(h.arrivals, arrival{s, local, remote, *p})
			return h.refuse
		},
	})
	require.NoError(h, err)
	h.Cleanup(s.Close)
	return s
}

// until calls Progress of both hosts until a condition holds.
func until(t *testing.T, active, passive *host, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !is(); {
		n := 0
		for _, h := range []*host{active, passive} {
			h.Stir()
			m, err := h.Progress()
			require.NoError(t, err)
			n += m
		}
		if n > 0 {
			continue
		}
		wait := time.Until(end)
		require.Positive(t, wait, what)
		p := []unix.PollFd{
			{Fd: int32(active.Descriptor()), Events: unix.POLLIN},
			{Fd: int32(passive.Descriptor()), Events: unix.POLLIN},
			{Fd: int32(active.wakeup), Events: unix.POLLIN},
		}
		_, err := unix.Poll(p, int(wait.Milliseconds())+1)
		if err != nil {
			require.ErrorIs(t, err, unix.EINTR)
		}
		_, _ = unix.Read(active.wakeup, make([]byte, 8))
	}
}

// realPair is a queue pair of the kernel.
type realPair struct {
	pair
	queue *uverbs.QueuePair
}

func (p *realPair) Number() uint32       { return p.queue.Number }
func (p *realPair) SharesReceives() bool { return false }
func (p *realPair) Fail() {
	p.pair.Fail()
	_ = p.queue.SetState(uverbs.StateError)
}

// Modify converts the attributes of rdma_cm to those of uverbs.
func (p *realPair) Modify(a *rdmacm.Attributes) error {
	p.modified = append(p.modified, *a)
	ah := &a.Address
	return p.queue.Modify(&uverbs.PairAttributes{
		Mask: uverbs.Mask(a.Mask), State: uverbs.State(a.State), PathMTU: uint8(a.PathMTU), Qkey: a.QKey,
		ReceivePSN: a.ReceivePSN, SendPSN: a.SendPSN, Remote: a.DestinationQP, Access: uverbs.Access(a.Access), PkeyIndex: a.PKeyIndex,
		Path: uverbs.Path{
			GID: ah.DGID, FlowLabel: ah.FlowLabel, LID: ah.DLID, GIDIndex: ah.SGIDIndex, HopLimit: ah.HopLimit, TrafficClass: ah.TrafficClass,
			ServiceLevel: ah.ServiceLevel, PathBits: ah.SourcePathBits, StaticRate: ah.StaticRate, Port: ah.Port, Global: ah.Global,
		},
		ReadsOut: a.Reads, ReadsIn: a.ReadsServed, RNRTimer: a.MinRNRTimer, Port: a.Port, Timeout: a.Timeout, Retries: a.RetryCount, RNRRetries: a.RNRRetryCount,
	})
}

func (h *host) pair() *realPair {
	h.Helper()
	q, err := h.context.NewQueuePair(&uverbs.QueuePairConfig{
		Domain: h.domain, Sends: h.queue, Receives: h.queue,
		Capacity: uverbs.Capacity{Sends: 4, Receives: 4, SendSegments: 1, ReceiveSegments: 1},
	})
	require.NoError(h, err)
	p := &realPair{queue: q}
	p.Connection = h.NewConnection(p, p)
	h.Cleanup(func() {
		p.Abort()
		require.NoError(h, q.Close()) // waits while the connection is busy
	})
	return p
}

// last returns the last entry of the log that is not a change of the queue pair.
func (p *pair) last() string {
	for i := len(p.log) - 1; i >= 0; i-- {
		if p.log[i] != "flush" && p.log[i] != "take" {
			return p.log[i][:4]
		}
	}
	return ""
}

// met makes a connection between two devices of the kernel.
func met(t *testing.T, active, passive *host, ip netip.Addr) (a, p *realPair) {
	t.Helper()
	s := passive.listen(ip)
	passive.arrivals = nil
	a = active.pair()
	local, err := a.Connect(s.Address(), asked())
	require.NoError(t, err)
	require.Equal(t, ip, local.Addr())
	until(t, active, passive, "request", func() bool { return len(passive.arrivals) > 0 || len(a.log) > 0 })
	require.NotEmpty(t, passive.arrivals, "%v: %v", a.log, a.err)
	r := passive.arrivals[0]
	require.Equal(t, s.Address(), r.local)
	require.Equal(t, ip, r.remote.Addr())
	require.Equal(t, "question", string(bytes.TrimRight(r.proposal.PrivateData, "\x00")))
	require.Equal(t, 7, r.proposal.ResponderResources)
	require.Equal(t, 5, r.proposal.InitiatorDepth)
	p = passive.pair()
	r.Accept(p, &provider.Proposal{PrivateData: []byte("answer"), ResponderResources: 5, InitiatorDepth: 6, RNRRetryCount: 7})
	until(t, active, passive, "established", func() bool { return len(a.log) > 0 && len(p.log) > 0 })
	require.Equal(t, "esta", a.last(), "%v", a.err)
	require.Equal(t, "esta", p.last(), "%v", p.err)
	require.Equal(t, "answer", string(bytes.TrimRight(a.answer.PrivateData, "\x00")))
	require.Equal(t, 5, a.answer.ResponderResources)
	require.Equal(t, 6, a.answer.InitiatorDepth)
	return a, p
}

func TestDeviceConnects(t *testing.T) {
	active, passive := newHost(t), newHost(t)
	require.Len(t, active.addresses, 3)
	for _, prefix := range active.addresses {
		ip := prefix.Addr()
		if ip.IsLinkLocalUnicast() {
			ip = ip.WithZone(os.Getenv(deviceInterface))
		}
		t.Run(ip.String(), func(t *testing.T) {
			a, p := met(t, active, passive, ip)
			a.Disconnect()
			until(t, active, passive, "the end", func() bool { return a.last() == "disc" && p.last() == "disc" })
			a, p = met(t, active, passive, ip)
			p.Disconnect()
			until(t, active, passive, "the end", func() bool { return a.last() == "disc" && p.last() == "disc" })
			a, p = met(t, active, passive, ip)
			a.Abort()
			until(t, active, passive, "the end", func() bool { return p.last() != "esta" })
			t.Log(p.log, p.err)
			require.Equal(t, "esta", a.last())
			a, p = met(t, active, passive, ip)
			p.Abort()
			until(t, active, passive, "the end", func() bool { return a.last() != "esta" })
			t.Log(a.log, a.err)
		})
	}
}

func TestDeviceRejects(t *testing.T) {
	active, passive := newHost(t), newHost(t)
	ip := active.addresses[0].Addr()
	s := passive.listen(ip)
	attempt := func(serve func(r arrival)) *realPair {
		t.Helper()
		passive.arrivals = nil
		a := active.pair()
		_, err := a.Connect(s.Address(), asked())
		require.NoError(t, err)
		until(t, active, passive, "an outcome", func() bool {
			if len(passive.arrivals) > 0 && serve != nil {
				serve(passive.arrivals[0])
				serve = nil
			}
			return len(a.log) > 0
		})
		require.Equal(t, []string{"flush", "failed"}, a.log)
		return a
	}
	a := attempt(func(r arrival) { r.Reject([]byte("no")) })
	require.Equal(t, provider.FailureRejected, a.why)
	require.Equal(t, "no", string(bytes.TrimRight(a.data, "\x00")))
	a = attempt(func(r arrival) { r.Reject(nil) })
	require.Equal(t, provider.FailureRejected, a.why)
	a = attempt(func(r arrival) { r.Refuse() })
	require.Equal(t, provider.FailureRefused, a.why)
	passive.refuse = errTest
	a = attempt(nil)
	require.Equal(t, provider.FailureRefused, a.why)
	require.Error(t, a.err)
	s.Close()
	a = attempt(nil)
	require.Equal(t, provider.FailureRefused, a.why)
	require.Error(t, a.err)
}

// TestDeviceGone accepts a request whose active side has gone. The test checks that the passive side gets an outcome:
// the accept fails, or the connection ends.
func TestDeviceGone(t *testing.T) {
	active, passive := newHost(t), newHost(t)
	s := passive.listen(active.addresses[0].Addr())
	a := active.pair()
	_, err := a.Connect(s.Address(), asked())
	require.NoError(t, err)
	until(t, active, passive, "request", func() bool { return len(passive.arrivals) > 0 })
	a.Abort()
	require.Equal(t, []string{"flush"}, a.log)
	p := passive.pair()
	passive.arrivals[0].Accept(p, asked())
	until(t, active, passive, "an outcome", func() bool { return len(p.log) > 0 && p.last() != "esta" })
	t.Log(p.log, p.err)
}
