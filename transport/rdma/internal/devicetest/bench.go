package devicetest

import (
	"errors"
	"net/netip"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/uverbs"
)

// bench is a device with memory and a completion queue.
type bench struct {
	*testing.T
	device  Device
	domain  Domain
	channel Channel
	queue   Completions
	memory  []byte
	region  *Region
	log     []uverbs.Completion
}

const (
	allAccess  = uverbs.AccessLocalWrite | uverbs.AccessRemoteRead | uverbs.AccessRemoteWrite
	benchPages = 16
)

// bench opens the device of the guest machine. It skips the test if there is none.
func (s *Subject) bench(t *testing.T, access uverbs.Access) *bench {
	t.Helper()
	name := os.Getenv(s.Variable)
	if name == "" {
		t.Skip("runs in a guest machine: see " + s.Guest)
	}
	devices, err := uverbs.Devices()
	require.NoError(t, err)
	at := slices.IndexFunc(devices, func(d uverbs.Device) bool { return d.Name == name })
	require.GreaterOrEqual(t, at, 0, "the kernel has no device %s", name)
	b := &bench{T: t}
	b.device, err = s.Open(&devices[at])
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.device.Close()) })
	b.domain, err = b.device.Domain()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.domain.Close()) })
	b.channel, err = b.device.Channel()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.channel.Close()) })
	b.queue, err = b.device.Completions(100, b.channel)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.queue.Close()) })
	b.memory, err = unix.Mmap(-1, 0, benchPages*4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, unix.Munmap(b.memory)) })
	b.region, err = b.domain.Memory(b.memory, access|uverbs.AccessRelaxedOrdering)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.region.Close()) })
	return b
}

// is reports whether the device has the driver.
func (b *bench) is(d uverbs.Driver) bool { return b.device.Opened().Driver == d }

// needConnections skips the test if connections of the device need the connection manager.
func (b *bench) needConnections() {
	b.Helper()
	if !b.is(uverbs.DriverRXE) {
		b.Skip("connections of iWARP need the connection manager")
	}
}

// pair makes a queue pair.
func (b *bench) pair(shared Receives) *Pair {
	b.Helper()
	q, err := b.device.Pair(&PairConfig{
		Domain: b.domain, Queue: b.queue, Shared: shared, User: 5,
		Capacity: uverbs.Capacity{Sends: 10, Receives: 10, SendSegments: 3, ReceiveSegments: 3, Inline: 64},
	})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, q.Close()) })
	return q
}

// initialize takes a queue pair of a RoCE device to the INIT state.
func (b *bench) initialize(q *Pair) {
	b.Helper()
	require.NoError(b, q.Modify(&uverbs.PairAttributes{
		Mask: uverbs.MaskState | uverbs.MaskPkeyIndex | uverbs.MaskPort | uverbs.MaskAccess, State: uverbs.StateInit, Port: 1,
		Access: allAccess | uverbs.AccessRemoteAtomic,
	}))
}

// connect connects two queue pairs of one RoCE device without a connection manager.
func (b *bench) connect(a, z *Pair) {
	b.Helper()
	opened := b.device.Opened()
	all, err := opened.GIDs(1)
	require.NoError(b, err)
	gid := all[len(all)-1] // the GID of the IPv4 address
	for _, p := range [][2]*Pair{{a, z}, {z, a}} {
		b.initialize(p[0])
		require.NoError(b, p[0].Modify(&uverbs.PairAttributes{
			Mask:  uverbs.MaskState | uverbs.MaskPath | uverbs.MaskPathMTU | uverbs.MaskRemote | uverbs.MaskReceivePSN | uverbs.MaskReadsIn | uverbs.MaskRNRTimer,
			State: uverbs.StateReceive, PathMTU: 3, Remote: p[1].Number, ReceivePSN: 1, ReadsIn: 4, RNRTimer: 12,
			Path: uverbs.Path{GID: netip.AddrFrom16(gid.Address.As16()).As16(), GIDIndex: uint8(gid.Index), HopLimit: 64, Port: 1, Global: true},
		}))
		require.NoError(b, p[0].Modify(&uverbs.PairAttributes{
			Mask:  uverbs.MaskState | uverbs.MaskTimeout | uverbs.MaskRetries | uverbs.MaskRNRRetries | uverbs.MaskSendPSN | uverbs.MaskReadsOut,
			State: uverbs.StateSend, Timeout: 14, Retries: 7, RNRRetries: 7, SendPSN: 1, ReadsOut: 4,
		}))
	}
}

func (b *bench) segment(off, n int) []uverbs.Segment {
	return []uverbs.Segment{{Data: b.memory[off : off+n], LKey: b.region.LKey}}
}

// receive posts a receive.
func (b *bench) receive(q *Pair, id uint64, off, n int) {
	b.Helper()
	_, err := q.PostReceives([]uverbs.ReceiveRequest{{ID: id, Segments: b.segment(off, n)}})
	require.NoError(b, err)
}

// post posts a signalled request and waits for its successful completion.
func (b *bench) post(q *Pair, r uverbs.SendRequest) {
	b.Helper()
	r.Flags |= uverbs.FlagSignalled
	_, err := q.PostSends([]uverbs.SendRequest{r})
	require.NoError(b, err)
	c := b.next(r.ID)
	require.Equal(b, uverbs.StatusSuccess, c.Status, "request %d", r.ID)
	require.Equal(b, q.Number, c.QueuePair)
}

// next waits for the completion of a request.
func (b *bench) next(id uint64) uverbs.Completion {
	b.Helper()
	for {
		for i, c := range b.log {
			if c.ID == id {
				b.log = append(b.log[:i], b.log[i+1:]...)
				return c
			}
		}
		var out [4]uverbs.Completion
		if n := b.queue.Poll(out[:]); n > 0 {
			b.log = append(b.log, out[:n]...)
			continue
		}
		require.NoError(b, b.queue.Arm())
		if n := b.queue.Poll(out[:]); n > 0 {
			b.log = append(b.log, out[:n]...)
			continue
		}
		fds := []unix.PollFd{{Fd: int32(b.channel.FD()), Events: unix.POLLIN}}
		n, err := unix.Poll(fds, 20_000)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		require.NoError(b, err)
		require.Equal(b, 1, n, "no completion of %d; have %+v", id, b.log)
		ok, err := b.channel.Next()
		require.NoError(b, err)
		require.True(b, ok)
	}
}
