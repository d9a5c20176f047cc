package iwarp_test

import (
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/transport/rdma/iwarp"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// scarcity first opens files until no number below the highest open descriptor is free. Then it sets the
// process's limit of open files to limit(n), where n is the number of open files. restore restores the former
// limit.
func scarcity(t *testing.T, limit func(open uint64) uint64) (restore func()) {
	t.Helper()
	var was unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &was))
	highest := 100 // large enough to calculate shares of it
	list, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	for _, entry := range list {
		fd, err := strconv.Atoi(entry.Name())
		require.NoError(t, err)
		highest = max(highest, fd)
	}
	var gaps []*os.File
	for last := 0; last <= highest; {
		f, err := os.Open(os.DevNull)
		require.NoError(t, err)
		gaps, last = append(gaps, f), int(f.Fd())
	}
	low := was
	low.Cur = limit(uint64(gaps[len(gaps)-1].Fd()) + 1)
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &low))
	restore = sync.OnceFunc(func() {
		require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &was))
		for _, f := range gaps {
			require.NoError(t, f.Close())
		}
	})
	t.Cleanup(restore)
	return restore
}

// spare returns a function for the argument limit of scarcity. The provider leaves 1/16 of the limit to the
// program, at least 4 and at most 64 descriptors. With the limit that the returned function computes, the
// provider can open n further descriptors.
func spare(n uint64) func(uint64) uint64 {
	return func(open uint64) uint64 {
		limit := open
		for limit-min(max(limit/16, 4), 64) < open+n {
			limit++
		}
		return limit
	}
}

// ask connects to a listener of s and sends a request.
func ask(t *testing.T, s *side, l *verbs.Listener) *peer {
	t.Helper()
	p := dial(t, s, l.Address())
	f, err := strangerOffer().Request(nil)
	require.NoError(t, err)
	p.send(f.Append(nil))
	return p
}

// taken connects to a listener of s and sends nothing. It waits until the provider has accepted the TCP
// connection.
func taken(t *testing.T, s *side, l *verbs.Listener) *peer {
	t.Helper()
	before := descriptors(t)
	p := dial(t, s, l.Address())
	p.pump(func() bool { return descriptors(t) == before+2 })
	return p
}

// TestLastDescriptorsAreSpared checks that the provider drops a new connection when few descriptors are left,
// and accepts the next one when more are free.
func TestLastDescriptorsAreSpared(t *testing.T) {
	s := newSide(t, iwarp.Config{}, 64)
	l := s.listen()
	p := ask(t, s, l)
	before := descriptors(t)
	restore := scarcity(t, spare(0))
	for s.provider.Counters().Scarce.Load() == 0 {
		s.poll()
	}
	restore()
	require.Equal(t, before, descriptors(t))
	p.ended()
	require.Empty(t, s.log)
	ask(t, s, l)
	s.request()
}

// TestDescriptorsNotSpared checks that the provider accepts a connection when one descriptor is free besides
// the descriptors that are kept for the program.
func TestDescriptorsNotSpared(t *testing.T) {
	s := newSide(t, iwarp.Config{}, 64)
	l := s.listen()
	ask(t, s, l)
	scarcity(t, spare(1))
	s.request()
	require.Zero(t, s.provider.Counters().Scarce.Load())
}

// TestStrangersGiveTheirDescriptors checks that the provider closes a connection without a request when few
// descriptors are left, and gives the descriptor to a new connection.
func TestStrangersGiveTheirDescriptors(t *testing.T) {
	s := newSide(t, iwarp.Config{RequestTimeout: time.Hour}, 64)
	l := s.listen()
	silent := taken(t, s, l)
	other := taken(t, s, l)
	before := descriptors(t)
	p := ask(t, s, l)
	restore := scarcity(t, spare(0))
	r := s.request()
	restore()
	require.Equal(t, before+1, descriptors(t), "only the descriptor of the test's end is new")
	require.Equal(t, uint64(1), s.provider.Counters().Scarce.Load())
	silent.ended()
	require.NoError(t, r.Reject(nil))
	require.True(t, p.frame().Reject)
	f, err := strangerOffer().Request(nil)
	require.NoError(t, err)
	other.send(f.Append(nil))
	s.request()
}

// TestHalfOpenAreAShare checks that connections without a request use at most 1/8 of the descriptors, even if
// HalfOpenMax is larger.
func TestHalfOpenAreAShare(t *testing.T) {
	s := newSide(t, iwarp.Config{HalfOpenMax: 1 << 20, RequestTimeout: time.Hour}, 64)
	l := s.listen()
	var share int
	scarcity(t, func(open uint64) uint64 {
		share = int(2*open+100) / 8
		return 2*open + 100 // enough for both ends of each permitted connection, and for the spared descriptors
	})
	first := taken(t, s, l)
	for range share - 1 {
		taken(t, s, l)
	}
	require.Zero(t, s.provider.Counters().Crowded.Load())
	dial(t, s, l.Address())
	first.pump(func() bool { return s.provider.Counters().Crowded.Load() == 1 })
	first.ended()
}

// TestRejectedKeepNoDescriptor checks that a rejected connection holds no descriptor, although the peer stays
// connected. The cases differ in the bytes that the peer sends.
func TestRejectedKeepNoDescriptor(t *testing.T) {
	s := newSide(t, iwarp.Config{CloseTimeout: time.Hour}, 64)
	l := s.listen()
	for name, more := range map[string][]byte{"silent": nil, "a word": []byte("word"), "very much": make([]byte, 1<<16)} {
		t.Run(name, func(t *testing.T) {
			before := descriptors(t)
			p := ask(t, s, l)
			p.send(more)
			require.NoError(t, s.request().Reject([]byte("no")))
			require.Equal(t, before+1, descriptors(t), "the test's end")
			f := p.frame()
			require.True(t, f.Reject)
			_, private, err := f.Split()
			require.NoError(t, err)
			require.Equal(t, "no", string(private))
			p.ended()
			require.NoError(t, p.conn.Close())
		})
	}
	require.Equal(t, uint64(3), s.provider.Counters().Rejected.Load())
}

// TestRefusedRequestsAreCounted checks that the counter Refused counts the requests that the provider refuses
// because the listener's backlog is full. The consumer never gets these requests.
func TestRefusedRequestsAreCounted(t *testing.T) {
	s := newSide(t, iwarp.Config{}, 64)
	l, err := s.adapter.Listen(verbs.ListenOptions{Queue: s.queue, Backlog: 1})
	require.NoError(t, err)
	ask(t, s, l)
	s.request()
	for n := range uint64(3) {
		ask(t, s, l).ended()
		require.Equal(t, n+1, s.provider.Counters().Refused.Load())
	}
	require.Zero(t, s.provider.Counters().Rejected.Load())
}
