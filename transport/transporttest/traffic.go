package transporttest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	goruntime "runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport"
)

// trafficRules are the tests in which all ranks exchange messages at the same time. In one of them, the ranks also
// issue Gets. Each rank has a goroutine of its own.
var trafficRules = []rule{
	{"FloodFromManyKeepsEachOrder", 8, testFlood},
	{"AllToAllOfRandomSizes", 6, testAllToAll},
	{"ManyRanksInARow", 48, testManyRanks},
	{"PipelinesInBothDirections", 2, testBothDirections},
}

// These constants are the kinds of messages in the traffic tests. Header.C has the kind.
const (
	kindData = iota
	kindOffer
	kindTaken
)

// stream checks the messages from one peer. The messages must have consecutive numbers, and each payload
// must be the pattern of its number. next is the number of the next message.
type stream struct{ next uint64 }

// take checks one message.
func (s *stream) take(h transport.Header, payload []byte) error {
	if h.A != s.next {
		return fmt.Errorf("message %d where %d was due", h.A, s.next)
	}
	s.next++
	if uint64(len(payload)) != h.B || !bytes.Equal(payload, pattern(h.A, len(payload))) {
		return fmt.Errorf("message %d: got %d bytes, want the %d bytes of its pattern", h.A, len(payload), h.B)
	}
	return nil
}

// checkStreams makes a member check all messages that arrive. It returns a stream for each peer.
func (m *member) checkStreams() []stream {
	streams := make([]stream, len(m.rig.ranks))
	m.onArrive = func(peer int, h transport.Header, payload []byte) {
		if err := streams[peer].take(h, payload); err != nil {
			m.rig.Errorf("rank %d from rank %d: %v", m.rank, peer, err)
			m.rig.failed.Store(true)
		}
	}
	return streams
}

// randomSize returns a random size from 0 to the argument most. Small sizes are more frequent.
func randomSize(random *rand.Rand, most int) int {
	return random.IntN(1 + most>>random.IntN(8))
}

func testFlood(r *rig) {
	count := uint64(r.rounds(1000))
	seeds := r.random()
	streams := r.ranks[0].checkStreams()
	sources := make([]*rand.Rand, len(r.ranks))
	for i := range sources {
		sources[i] = rand.New(rand.NewPCG(seeds.Uint64(), 0))
	}
	var ended atomic.Int32
	r.parallel(func(m *member) error {
		if m.rank == 0 {
			if err := m.wait("the flood", func() bool {
				return !slices.ContainsFunc(streams[1:], func(s stream) bool { return s.next < count })
			}); err != nil {
				return err
			}
			return m.linger(&ended)
		}
		e, err := m.transport.Endpoint(0)
		if err != nil {
			return err
		}
		most := e.Caps().MaxEager
		for i := range count {
			n := randomSize(sources[m.rank], most)
			if err := m.send(0, transport.Header{A: i, B: uint64(n)}, pattern(i, n)); err != nil {
				return err
			}
		}
		return m.linger(&ended)
	})
}

// testAllToAll exchanges messages between all pairs of ranks at the same time. If the transport has
// Get, some of the messages offer memory, which the receiver reads (see party).
func testAllToAll(r *rig) {
	seeds := r.random()
	parties := make([]*party, len(r.ranks))
	var ended atomic.Int32
	for i, m := range r.ranks {
		parties[i] = newParty(m, rand.New(rand.NewPCG(seeds.Uint64(), 0)), &ended)
	}
	r.parallel(func(m *member) error { return parties[m.rank].run() })
	for _, p := range parties {
		for _, k := range p.offered {
			require.NoError(r, p.transport.Conceal(k))
		}
	}
}

func testManyRanks(r *rig) {
	const count = 20
	all := make([][]stream, len(r.ranks))
	for i, m := range r.ranks {
		all[i] = m.checkStreams()
	}
	r.parallel(func(m *member) error {
		next, last := (m.rank+1)%len(r.ranks), (m.rank+len(r.ranks)-1)%len(r.ranks)
		if err := m.stream(next, count, shortMessage); err != nil {
			return err
		}
		return m.wait("the neighbour", func() bool { return all[m.rank][last].next == count })
	})
}

func testBothDirections(r *rig) {
	_, caps := r.connected(0, 1)
	r.connected(1, 0)
	count := uint64(r.rounds(3000))
	n := min(caps.MaxEager, 3000)
	all := [][]stream{r.ranks[0].checkStreams(), r.ranks[1].checkStreams()}
	r.parallel(func(m *member) error {
		peer := 1 - m.rank
		if err := m.stream(peer, count, n); err != nil {
			return err
		}
		return m.wait("the other pipeline", func() bool { return all[m.rank][peer].next == count })
	})
}

// testNothingIsLeft connects ranks (newFabric), sends messages, and closes the ranks, four times. It compares the
// numbers of goroutines and of descriptors of the process after the first and after the last time. It does not
// compare with the numbers before the first time, because that time may allocate resources that the process keeps.
func testNothingIsLeft(t *testing.T, newFabric Make) {
	t.Helper()
	use := func() {
		r := newRig(t, newFabric, 4)
		testManyRanks(r)
		r.close()
	}
	use()
	goroutines, descriptors := goruntime.NumGoroutine(), countDescriptors()
	for range 3 {
		use()
	}
	for deadline := time.Now().Add(defaultPatience); goruntime.NumGoroutine() > goroutines; goruntime.Gosched() {
		require.False(t, time.Now().After(deadline), "goroutines are left: %d", goruntime.NumGoroutine()-goroutines)
	}
	require.LessOrEqual(t, countDescriptors(), descriptors, "descriptors are left")
}
