package uverbs_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/uverbs"
)

// bench is a device with memory and a completion queue.
type bench struct {
	*testing.T
	context *uverbs.Context
	domain  *uverbs.ProtectionDomain
	channel *uverbs.Channel
	queue   *uverbs.CompletionQueue
	memory  []byte
	region  *uverbs.Region
	log     []uverbs.Completion
}

const (
	allAccess  = uverbs.AccessLocalWrite | uverbs.AccessRemoteRead | uverbs.AccessRemoteWrite
	benchPages = 16
)

func newBench(t *testing.T, access uverbs.Access) *bench {
	t.Helper()
	name := deviceName(t)
	devices, err := uverbs.Devices()
	require.NoError(t, err)
	at := slices.IndexFunc(devices, func(d uverbs.Device) bool { return d.Name == name })
	require.GreaterOrEqual(t, at, 0, "the kernel has no device %s", name)
	b := &bench{T: t}
	b.context, err = uverbs.Open(&devices[at])
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.context.Close()) })
	b.domain, err = b.context.NewProtectionDomain()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.domain.Close()) })
	b.channel, err = b.context.NewChannel()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.channel.Close()) })
	b.queue, err = b.context.NewCompletionQueue(100, b.channel)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.queue.Close()) })
	b.memory, err = unix.Mmap(-1, 0, benchPages*4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, unix.Munmap(b.memory)) })
	b.region, err = b.domain.Register(b.memory, access|uverbs.AccessRelaxedOrdering)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.region.Close()) })
	return b
}

// pair makes a queue pair.
func (b *bench) pair(shared *uverbs.SharedReceiveQueue) *uverbs.QueuePair {
	b.Helper()
	q, err := b.context.NewQueuePair(&uverbs.QueuePairConfig{
		Domain: b.domain, Sends: b.queue, Receives: b.queue, Shared: shared, User: 5,
		Capacity: uverbs.Capacity{Sends: 10, Receives: 10, SendSegments: 3, ReceiveSegments: 3, Inline: 64},
	})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, q.Close()) })
	return q
}

func (b *bench) segment(off, n int) []uverbs.Segment {
	return []uverbs.Segment{{Data: b.memory[off : off+n], LKey: b.region.LKey}}
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

// TestDeviceAttributes compares the limits with constants that were taken from the output of the program
// ibv_devinfo.
func TestDeviceAttributes(t *testing.T) {
	b := newBench(t, allAccess)
	a, err := b.context.Attributes()
	require.NoError(t, err)
	p, err := b.context.Port(1)
	require.NoError(t, err)
	require.Equal(t, 128, a.MaxReadsIn)
	require.Equal(t, 128, a.MaxReadsOut)
	all, err := b.context.Device.GIDs(1)
	require.NoError(t, err)
	require.NotEmpty(t, all)
	require.Equal(t, map[uverbs.Driver]string{uverbs.DriverRXE: "dummy0", uverbs.DriverSIW: "dummy1"}[b.context.Device.Driver], b.context.Device.Interface)
	switch b.context.Device.Driver {
	case uverbs.DriverSIW:
		require.Equal(t, 6, a.MaxSegments)
		require.False(t, a.Atomics)
		require.EqualValues(t, math.MaxUint32, p.MaxMessage)
		require.Equal(t, uverbs.TransportIWARP, b.context.Device.Transport)
	case uverbs.DriverRXE:
		require.Equal(t, 32, a.MaxSegments)
		require.True(t, a.Atomics)
		require.EqualValues(t, 8<<20, p.MaxMessage)
		require.Equal(t, "RoCE v2", all[len(all)-1].Kind)
		require.Equal(t, "dummy0", all[len(all)-1].Interface)
	}
	_, err = b.context.Port(2)
	require.ErrorIs(t, err, unix.EINVAL)
}

// TestDeviceMemory checks registrations of memory, and the errors of failed ones.
func TestDeviceMemory(t *testing.T) {
	b := newBench(t, allAccess)
	heap := make([]byte, 10_000)
	r, err := b.domain.Register(heap[100:], uverbs.AccessLocalWrite)
	require.NoError(t, err)
	require.NotEqual(t, b.region.LKey, r.LKey)
	require.ErrorIs(t, b.domain.Close(), unix.EBUSY)
	require.NoError(t, r.Close())
	require.ErrorIs(t, r.Close(), unix.ENOENT)
	_, err = b.domain.Register(nil, uverbs.AccessLocalWrite)
	require.ErrorIs(t, err, unix.EINVAL)

	// The following registration fails as it does for a user with a limit of locked memory.
	var old unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_MEMLOCK, &old))
	limit := unix.Rlimit{Cur: 4096 * (benchPages + 4), Max: old.Max}
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_MEMLOCK, &limit))
	defer func() { require.NoError(t, unix.Setrlimit(unix.RLIMIT_MEMLOCK, &old)) }()
	if b.context.Device.Driver != uverbs.DriverSIW {
		return // with this driver, root may exceed the limit (CAP_IPC_LOCK)
	}
	_, err = b.domain.Register(make([]byte, 1<<20), uverbs.AccessLocalWrite)
	var locked *uverbs.MemlockError
	require.ErrorAs(t, err, &locked)
	require.ErrorIs(t, err, unix.ENOMEM)
	require.EqualValues(t, limit.Cur, locked.Limit)
	require.GreaterOrEqual(t, locked.Need, uint64(1<<20))
}

// TestDeviceFlush checks that the receives of a failed queue pair are flushed, each once and with its ID.
// The test needs no peer.
func TestDeviceFlush(t *testing.T) {
	b := newBench(t, allAccess)
	q := b.pair(nil)
	if b.context.Device.Driver == uverbs.DriverRXE {
		initialise(t, q)
	}
	list := make([]uverbs.ReceiveRequest, 0, q.Granted.Receives)
	for i := range q.Granted.Receives {
		list = append(list, uverbs.ReceiveRequest{ID: uint64(1000 + i), Segments: b.segment(i*64, 64)})
	}
	n, err := q.PostReceives(list)
	require.NoError(t, err)
	require.Equal(t, len(list), n)
	n, err = q.PostReceives(list[:1])
	require.ErrorIs(t, err, uverbs.ErrFull)
	require.Zero(t, n)
	require.NoError(t, q.SetState(uverbs.StateError))
	for i := range list {
		require.Equal(t, uverbs.StatusFlushed, b.next(uint64(1000+i)).Status)
	}
	require.Empty(t, b.log)
}

// initialise takes a queue pair of a RoCE device to the INIT state.
func initialise(t *testing.T, q *uverbs.QueuePair) {
	t.Helper()
	require.NoError(t, q.Modify(&uverbs.PairAttributes{
		Mask: uverbs.MaskState | uverbs.MaskPkeyIndex | uverbs.MaskPort | uverbs.MaskAccess, State: uverbs.StateInit, Port: 1,
		Access: allAccess | uverbs.AccessRemoteAtomic,
	}))
}
