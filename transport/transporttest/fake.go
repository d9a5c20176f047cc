package transporttest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"

	"github.com/gorun-hpc/gorun/transport"
)

// errFault is the error of an operation that the fake makes fail.
var errFault = errors.New("injected fault")

// The constants default* are the defaults of FakeOptions. They are small, so that tests reach the limits.
const (
	defaultMaxEager     = 4096
	defaultEagerBest    = 512
	defaultRingMessages = 64
	defaultRingBytes    = 64 << 10
	defaultMaxReads     = 4

	// fakeArenaBytes is the size of each rank's arena. stormPolls is the largest number of Polls of a storm (see
	// AgainRate).
	fakeArenaBytes = 1 << 20
	stormPolls     = 3
)

// FakeOptions selects the capabilities and the faults of a Fake. The zero value is
// a fabric with all capabilities and without faults.
type FakeOptions struct {
	// Seed determines every fault. If one goroutine drives all ranks, two runs with the same seed are
	// identical. With one goroutine per rank, each rank draws the same random numbers in both runs, but
	// the timing of the goroutines determines which decisions use them.
	Seed int64

	// MaxEager and EagerBest are reported in Caps. 0 means 4096 bytes for MaxEager, and for EagerBest 512 bytes or, if
	// that is less, MaxEager.
	MaxEager, EagerBest int
	// NoGet, NoPut, NoFetchAdd and NoHandover remove capabilities.
	NoGet, NoPut, NoFetchAdd, NoHandover bool
	// TargetPolls makes every one-sided operation wait until its target polls.
	TargetPolls bool
	// CostlySend is reported in Caps.
	CostlySend bool
	// MaxReads bounds the Gets in flight to one peer; 0 means 4.
	MaxReads int
	// RingMessages and RingBytes bound the messages in one lane; 0 means 64 messages
	// and 64 KiB of payload. An empty lane takes every message of up to MaxEager bytes.
	RingMessages, RingBytes int

	// AgainRate is the probability, below 1, that an operation begins a storm. In a storm this operation and all
	// later operations of this rank return ErrAgain. The storm ends when the rank has polled a random number of
	// times, from 1 to 3.
	AgainRate float64
	// DelayPolls bounds random delays. A message stays in flight for up to DelayPolls Polls of its receiver, and
	// an operation for up to DelayPolls Polls of its issuer. Completions may overtake each other.
	DelayPolls int
	// ConnectPolls is the largest number of Polls from the first operation on an endpoint until its
	// connection is established. Until then operations get ErrAgain, and the fields Get, Put,
	// FetchAdd and Handover of Caps are false.
	ConnectPolls int
	// FailRate is the probability that a Get, Put or FetchAdd completes with errFault. A failed Get leaves
	// rubbish in the second half of its destination. A failed Put writes only the first half of its source.
	FailRate float64
	// AllowStale permits the use of a Key after Conceal. It also permits Conceal of memory that a living peer is
	// still reading or writing. The operation then completes with ErrBadKey, as the contract says. Without
	// AllowStale the fake panics.
	AllowStale bool
}

// withDefaults returns the options with defaults in place of zero values. It panics if AgainRate is out of range.
func (o FakeOptions) withDefaults() FakeOptions {
	for _, d := range []struct {
		field *int
		value int
	}{
		{&o.MaxEager, defaultMaxEager},
		{&o.RingMessages, defaultRingMessages},
		{&o.RingBytes, defaultRingBytes},
		{&o.MaxReads, defaultMaxReads},
	} {
		if *d.field == 0 {
			*d.field = d.value
		}
	}
	if o.EagerBest == 0 {
		o.EagerBest = min(defaultEagerBest, o.MaxEager)
	}
	if o.AgainRate < 0 || o.AgainRate >= 1 {
		panic(fmt.Sprintf("transporttest: AgainRate %v is not in [0, 1)", o.AgainRate))
	}
	return o
}

// Fake connects the ranks of one process in memory. As the contract requires, only one goroutine at a time may call
// the methods of a rank's transport other than MarkDown and GiveUp; different goroutines may call the transports of
// different ranks. If the caller violates the contract, the fake panics.
type Fake struct {
	options FakeOptions

	// mu guards the lanes and the fields of the ranks, except the field guard. It is never held
	// during a callback. A sleeper's lock may be acquired while mu is held.
	mu    sync.Mutex
	ranks []*fakeTransport
	// lanes[i*n+j] is the lane from rank i to rank j, where n is the number of ranks.
	lanes []lane
}

// NewFake returns a fabric of n ranks.
func NewFake(n int, options FakeOptions) *Fake {
	f := &Fake{options: options.withDefaults(), lanes: make([]lane, n*n)}
	for rank := range n {
		f.ranks = append(f.ranks, newFakeTransport(f, rank, n))
	}
	return f
}

// newFakeTransport returns the transport of one rank.
func newFakeTransport(f *Fake, rank, n int) *fakeTransport {
	t := &fakeTransport{
		fabric:  f,
		rank:    rank,
		guard:   guard{rank: rank},
		random:  rand.New(rand.NewPCG(uint64(f.options.Seed), uint64(rank))),
		peers:   make([]peerState, n),
		exposed: map[uint64]*region{},
		sleeper: new(transport.ChannelSleeper),
	}
	t.arena = &fakeArena{rank: rank, size: fakeArenaBytes}
	t.endpoints = make([]fakeEndpoint, n)
	for peer := range n {
		t.endpoints[peer] = fakeEndpoint{from: t, peer: peer}
	}
	return t
}

// Transport returns the transport of a rank.
func (f *Fake) Transport(rank int) transport.Transport { return f.ranks[rank] }

// Sleeper returns the sleeper of a rank.
func (f *Fake) Sleeper(rank int) transport.Sleeper { return f.ranks[rank].sleeper }

// Arena returns the arena of a rank.
func (f *Fake) Arena(rank int) transport.Arena { return f.ranks[rank].arena }

// Kill ends a rank as a crash does, and marks it down at every other rank, as a node agent does. After Kill,
// the dead rank's own transport behaves as after its Close, except that its first Close returns nil. Kill may be
// called from any goroutine.
func (f *Fake) Kill(rank int, cause error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	t := f.ranks[rank]
	t.closed, t.killed = true, t.killed || !t.closed
	t.wake()
	for _, other := range f.ranks {
		if other.rank != rank {
			other.markDown(rank, cause)
		}
	}
}

// Exposed returns the number of exposures of a rank that are not concealed. If this number is larger at the end
// of a test than at its beginning, the caller leaks exposures.
func (f *Fake) Exposed(rank int) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.ranks[rank].exposed)
}

// lane returns the lane from one rank to another.
func (f *Fake) lane(from, to int) *lane { return &f.lanes[from*len(f.ranks)+to] }
