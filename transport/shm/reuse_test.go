package shm_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/shm"
)

// Suppose that the process ID of a peer is given to another process, at any time. Nothing is
// written to that process, and nothing that is read from it counts as a result. The operation waits
// until the loss of the peer is reported.
func TestReusedProcessID(t *testing.T) {
	for name, c := range map[string]struct {
		way int
		put bool
	}{
		"get alone":  {way: shm.WayAlone},
		"get shared": {way: shm.WayShared},
		"get piped":  {way: shm.WayPiped},
		"put":        {put: true},
	} {
		t.Run(name, func(t *testing.T) {
			for before := range 8 {
				ts := pair(t)
				needsAlone(t)
				shm.ForceWay(ts[0], c.way)
				const n = 1<<20 + 4711
				source := pattern(n, 5)
				k, err := ts[1].Expose(source, transport.AccessRead|transport.AccessWrite)
				require.NoError(t, err)
				e := endpointTo(t, ts[0], 1)
				require.NoError(t, get(t, ts, make([]byte, 100), k)) // probes whether direct copies work
				writes := shm.Reuse(ts[0], before)
				dst := make([]byte, n)
				if c.put {
					require.NoError(t, e.Put(dst, k, 1))
				} else {
					require.NoError(t, e.Get(dst, k, 1))
				}
				l := &log{}
				poll(t, ts[0], l, 500)
				if len(l.done) > 0 { // the operation has completed before the process ID was reused
					require.NoError(t, l.done[0].err)
					require.Equal(t, source, dst)
					continue
				}
				ts[0].MarkDown(1, unix.ESRCH)
				poll(t, ts[0], l, 3)
				require.Len(t, l.done, 1)
				require.ErrorIs(t, l.done[0].err, transport.ErrPeerDown)
				require.Zero(t, *writes, "%d copies before", before)
			}
		})
	}
}

// An owner that helps a peer with its Get does not write to the process that has got the peer's
// process ID.
func TestReusedProcessIDOfReader(t *testing.T) {
	for before := range 4 {
		ts := pair(t)
		needsAlone(t)
		shm.ForceWay(ts[0], shm.WayShared)
		source := pattern(4<<20, 5)
		k, err := ts[1].Expose(source, transport.AccessRead)
		require.NoError(t, err)
		require.NoError(t, endpointTo(t, ts[0], 1).Get(make([]byte, len(source)), k, 1))
		require.NoError(t, shm.Probe(ts[1], 0))
		poll(t, ts[0], &log{}, 1) // rank 0 asks the owner to help
		writes := shm.Reuse(ts[1], before)
		poll(t, ts[1], &log{}, 20)
		require.Zero(t, *writes, "%d copies before", before)
	}
}

// Every verification of a process ID fails after the ID was given to another process.
func TestProofIsNotBelievedAfterItFailed(t *testing.T) {
	ts := pair(t)
	needsAlone(t)
	require.NoError(t, shm.Probe(ts[1], 0))
	require.NoError(t, shm.Prove(ts[1], 0))
	shm.Reuse(ts[1], 0)
	for range 3 {
		require.Error(t, shm.Prove(ts[1], 0))
	}
}

// Once the loss of a peer is known, the memory of its process is neither read nor written, even while
// the loss cannot be reported yet. In this test the loss cannot be reported, because an unpublished
// claim of a live rank precedes the peer's last message in the inbox.
func TestNoCopyAfterLoss(t *testing.T) {
	needsAlone(t)
	ts, node := mapped(t, 3, shm.Config{})
	shm.ForceWay(ts[0], shm.WayShared)
	source := pattern(4<<20, 5)
	k, err := ts[1].Expose(source, transport.AccessRead|transport.AccessWrite)
	require.NoError(t, err)
	own, err := ts[0].Expose(source, transport.AccessRead)
	require.NoError(t, err)
	shm.ForceWay(ts[1], shm.WayShared)
	require.NoError(t, endpointTo(t, ts[1], 0).Get(make([]byte, len(source)), own, 1))
	poll(t, ts[1], &log{}, 1) // rank 1 asks the owner to help
	shm.Claim(ts[2], 0, 1, true)
	require.NoError(t, endpointTo(t, ts[1], 0).Send(transport.Header{A: 1}, nil))
	to, l := endpointTo(t, ts[0], 1), &log{}
	require.NoError(t, to.Get(make([]byte, len(source)), k, 1))
	require.NoError(t, to.Put(source, k, 2))
	poll(t, ts[0], l, 1)
	ts[0].MarkDown(1, unix.ESRCH)
	poll(t, ts[0], l, 1)
	writes := shm.Reuse(ts[0], 0)
	reads := shm.CountDirect(ts[0], func() {})
	poll(t, ts[0], l, 20)
	require.Empty(t, l.downs)
	require.False(t, ts[0].Arm(), "a loss is to be reported")
	require.Zero(t, *reads)
	require.Zero(t, *writes)
	ts[0].MarkDown(2, unix.ESRCH)
	poll(t, ts[0], l, 4)
	require.Len(t, l.downs, 2)
	require.Len(t, l.done, 2)
	require.Zero(t, *writes)
	for _, tr := range ts {
		require.NoError(t, tr.Close())
	}
	require.NoError(t, node.Close())
}

// Suppose that a rank was killed and reaped, and that its process ID names another process with
// memory at the same address. Nothing that is read from that memory counts as a result, and nothing
// is written to it. The operations end when the loss is reported.
func TestProcessIDOfTheDead(t *testing.T) {
	needsAlone(t)
	const n = 100_000
	s := newStage(t, "source", 3, false)
	mine := s.ask(t, 1, transport.Header{A: wordFixed, B: n, C: 1})
	other := s.ask(t, 2, transport.Header{A: wordFixed, B: n, C: 2})
	require.EqualValues(t, fixedAddress, mine.Addr)
	require.Equal(t, mine.Addr, other.Addr)
	require.NoError(t, s.get(t, make([]byte, n), mine))
	s.kill(t, 1)
	shm.Reassign(s.tr, 1, s.procs[1].Process.Pid)
	to := endpointTo(t, s.tr, 1)
	s.done = nil
	require.NoError(t, to.Get(make([]byte, n), mine, 1))
	require.NoError(t, to.Put(pattern(n, 3), mine, 2))
	poll(t, s.tr, s, 1000)
	require.Empty(t, s.done)

	dst := make([]byte, n)
	require.NoError(t, endpointTo(t, s.tr, 2).Get(dst, other, 3))
	require.NoError(t, s.poll(func() bool { return len(s.done) > 0 }))
	require.Equal(t, []completion{{token: 3}}, s.done)
	require.Equal(t, pattern(n, 2), dst)
	s.tr.MarkDown(1, unix.ESRCH)
	require.NoError(t, s.poll(func() bool { return len(s.downs) > 0 }))
	require.Len(t, s.done, 3)
	for _, d := range s.done[1:] {
		require.ErrorIs(t, d.err, transport.ErrPeerDown)
	}
}
