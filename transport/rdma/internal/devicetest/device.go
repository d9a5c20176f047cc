package devicetest

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/uverbs"
)

// Attributes compares the limits with constants that were taken from the output of the program ibv_devinfo.
func (s *Subject) Attributes(t *testing.T) {
	t.Helper()
	b := s.bench(t, allAccess)
	a, err := b.device.Attributes()
	require.NoError(t, err)
	p, err := b.device.Port(1)
	require.NoError(t, err)
	require.Equal(t, 128, a.MaxReadsIn)
	require.Equal(t, 128, a.MaxReadsOut)
	opened := b.device.Opened()
	all, err := opened.GIDs(1)
	require.NoError(t, err)
	require.NotEmpty(t, all)
	require.Equal(t, map[uverbs.Driver]string{uverbs.DriverRXE: "dummy0", uverbs.DriverSIW: "dummy1"}[opened.Driver], opened.Interface)
	switch opened.Driver {
	case uverbs.DriverSIW:
		require.Equal(t, 6, a.MaxSegments)
		require.False(t, a.Atomics)
		require.EqualValues(t, math.MaxUint32, p.MaxMessage)
		require.Equal(t, uverbs.TransportIWARP, opened.Transport)
	case uverbs.DriverRXE:
		require.Equal(t, 32, a.MaxSegments)
		require.True(t, a.Atomics)
		require.EqualValues(t, 8<<20, p.MaxMessage)
		require.Equal(t, "RoCE v2", all[len(all)-1].Kind)
		require.Equal(t, "dummy0", all[len(all)-1].Interface)
	}
	_, err = b.device.Port(2)
	require.ErrorIs(t, err, unix.EINVAL)
}

// Memory checks registrations of memory, and the errors of failed ones.
func (s *Subject) Memory(t *testing.T) {
	t.Helper()
	b := s.bench(t, allAccess)
	heap := make([]byte, 10_000)
	r, err := b.domain.Memory(heap[100:], uverbs.AccessLocalWrite)
	require.NoError(t, err)
	require.NotEqual(t, b.region.LKey, r.LKey)
	require.ErrorIs(t, b.domain.Close(), unix.EBUSY)
	require.NoError(t, r.Close())
	require.ErrorIs(t, r.Close(), s.Closed)
	_, err = b.domain.Memory(nil, uverbs.AccessLocalWrite)
	require.ErrorIs(t, err, unix.EINVAL)

	// The following registration fails as it does for a user with a limit of locked memory.
	var old unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_MEMLOCK, &old))
	limit := unix.Rlimit{Cur: 4096 * (benchPages + 4), Max: old.Max}
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_MEMLOCK, &limit))
	defer func() { require.NoError(t, unix.Setrlimit(unix.RLIMIT_MEMLOCK, &old)) }()
	if !b.is(uverbs.DriverSIW) {
		return // with rxe, root may exceed the limit (CAP_IPC_LOCK)
	}
	_, err = b.domain.Memory(make([]byte, 1<<20), uverbs.AccessLocalWrite)
	var locked *uverbs.MemlockError
	require.ErrorAs(t, err, &locked)
	require.ErrorIs(t, err, unix.ENOMEM)
	require.EqualValues(t, limit.Cur, locked.Limit)
	require.GreaterOrEqual(t, locked.Need, uint64(1<<20))
}

// Flush checks that the receives of a failed queue pair are flushed, each once and with its ID. The test needs no
// peer.
func (s *Subject) Flush(t *testing.T) {
	t.Helper()
	b := s.bench(t, allAccess)
	q := b.pair(nil)
	if b.is(uverbs.DriverRXE) {
		b.initialize(q)
	}
	list := make([]uverbs.ReceiveRequest, 100)
	for i := range list {
		list[i] = uverbs.ReceiveRequest{ID: uint64(1000 + i), Segments: b.segment(i*64, 64)}
	}
	if s.Exact {
		list = list[:q.Granted.Receives]
		n, err := q.PostReceives(list)
		require.NoError(t, err)
		require.Equal(t, len(list), n)
		n, err = q.PostReceives(list[:1])
		require.ErrorIs(t, err, uverbs.ErrFull)
		require.Zero(t, n)
	} else {
		n, err := q.PostReceives(list)
		require.ErrorIs(t, err, uverbs.ErrFull)
		require.GreaterOrEqual(t, n, q.Granted.Receives)
		list = list[:n]
	}
	require.NoError(t, q.SetState(uverbs.StateError))
	for i := range list {
		require.Equal(t, uverbs.StatusFlushed, b.next(uint64(1000+i)).Status)
	}
	require.Empty(t, b.log)
}
