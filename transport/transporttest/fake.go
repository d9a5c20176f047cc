package transporttest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"

	"github.com/gorun-hpc/gorun/transport"
)

// ErrFault is the default cause of an operation that the fake let fail.
var ErrFault = errors.New("injected fault")

// errDropped is the cause of a loss made by Drop.
var errDropped = errors.New("connection dropped")

// Defaults of FakeOptions, small so that tests reach the edges.
const (
	defaultMaxEager     = 4096
	defaultEagerBest    = 512
	defaultRingMessages = 64
	defaultRingBytes    = 64 << 10
	defaultMaxReads     = 4
	defaultArenaBytes   = 1 << 20
	defaultAgainPolls   = 3
)

// FakeOptions says what a Fake can do and what it does wrong. The zero value is
// a fabric without faults that can do everything.
type FakeOptions struct {
	// Seed determines every fault. With the ranks driven from one goroutine a run
	// repeats exactly; with one goroutine per rank each rank's own decisions do.
	Seed int64

	// MaxEager and EagerBest are reported as Caps; 0 means 4096 and 512 bytes.
	MaxEager, EagerBest int
	// NoGet, NoPut, NoFetchAdd and NoHandover take capabilities away.
	NoGet, NoPut, NoFetchAdd, NoHandover bool
	// TargetPolls makes every one-sided operation wait for a Poll of its target.
	TargetPolls bool
	// CostlySend is reported as Caps.
	CostlySend bool
	// MaxReads is the number of Gets under way to one peer; 0 means 4.
	MaxReads int
	// RingMessages and RingBytes bound what one lane holds; 0 means 64 messages
	// and 64 KiB. A message of MaxEager always fits an empty lane.
	RingMessages, RingBytes int
	// ArenaBytes is the size of each rank's arena; 0 means 1 MiB.
	ArenaBytes int

	// AgainRate is the chance, below 1, that an operation meets a storm: it and
	// all that follow on this rank are refused until 1 to AgainPolls (0 means 3)
	// more Polls have been made.
	AgainRate  float64
	AgainPolls int
	// DelayPolls is the largest number of Polls that a message stays in flight at
	// the receiver, or a completion at its issuer. Completions overtake each other.
	DelayPolls int
	// ConnectPolls is the largest number of Polls from the first operation on an
	// endpoint until its connection stands. Until then operations are refused and
	// the endpoint promises neither Get, Put, FetchAdd nor Handover.
	ConnectPolls int
	// FailRate is the chance that a Get, Put or FetchAdd completes with FailError
	// (nil means ErrFault). A failed Get leaves rubbish in its destination, a
	// failed Put part of its source.
	FailRate  float64
	FailError error
	// AllowStale turns the use of a Key after Conceal, and a Conceal of memory
	// that a living peer is still reading or writing, from a panic into what the
	// contract says of it: ErrBadKey.
	AllowStale bool
}

// withDefaults fills in what was left zero.
func (o FakeOptions) withDefaults() FakeOptions {
	for _, d := range []struct {
		field *int
		value int
	}{
		{&o.MaxEager, defaultMaxEager},
		{&o.RingMessages, defaultRingMessages},
		{&o.RingBytes, defaultRingBytes},
		{&o.MaxReads, defaultMaxReads},
		{&o.ArenaBytes, defaultArenaBytes},
		{&o.AgainPolls, defaultAgainPolls},
	} {
		if *d.field == 0 {
			*d.field = d.value
		}
	}
	if o.EagerBest == 0 {
		o.EagerBest = min(defaultEagerBest, o.MaxEager)
	}
	if o.FailError == nil {
		o.FailError = ErrFault
	}
	if o.AgainRate < 0 || o.AgainRate >= 1 {
		panic(fmt.Sprintf("transporttest: AgainRate %v is not in [0, 1)", o.AgainRate))
	}
	return o
}

// Fake connects the ranks of one process in memory. Each rank's transport is
// driven by one goroutine at a time, as the contract asks; different ranks may
// be driven by different goroutines. Misuse by the caller panics.
type Fake struct {
	options FakeOptions

	// mu guards the lanes and every field of the ranks that is not their guard. It
	// is never held during a callback. A sleeper's lock may be taken under it.
	mu    sync.Mutex
	ranks []*fakeTransport
	// lanes[from*n+to] is the ordered lane of a pair.
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
	t.arena = &fakeArena{rank: rank, size: f.options.ArenaBytes}
	t.endpoints = make([]fakeEndpoint, n)
	for peer := range n {
		t.endpoints[peer] = fakeEndpoint{from: t, peer: peer}
	}
	return t
}

// Size returns the number of ranks.
func (f *Fake) Size() int { return len(f.ranks) }

// Transport returns the transport of a rank.
func (f *Fake) Transport(rank int) transport.Transport { return f.ranks[rank] }

// Sleeper returns the sleeper of a rank.
func (f *Fake) Sleeper(rank int) transport.Sleeper { return f.ranks[rank].sleeper }

// Arena returns the arena of a rank.
func (f *Fake) Arena(rank int) transport.Arena { return f.ranks[rank].arena }

// Kill ends a rank as a crash would, and tells every other rank of it as a node
// agent would. Calls of the dead rank's own transport return ErrClosed from then
// on. Safe to call from any goroutine.
func (f *Fake) Kill(rank int, cause error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ranks[rank].closed = true
	f.ranks[rank].wake()
	for _, t := range f.ranks {
		if t.rank != rank {
			t.markDown(rank, cause)
		}
	}
}

// Drop cuts the connection of two living ranks: each sees the other go down.
// Safe to call from any goroutine.
func (f *Fake) Drop(a, b int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ranks[a].markDown(b, errDropped)
	f.ranks[b].markDown(a, errDropped)
}

// Exposed returns how many exposures of a rank have not been concealed. A test
// that ends with more than it began with has found a leak.
func (f *Fake) Exposed(rank int) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.ranks[rank].exposed)
}

// InFlight returns how many messages are on their way to a rank plus how many of
// its own operations are under way.
func (f *Fake) InFlight(rank int) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ranks[rank].waiting + len(f.ranks[rank].operations)
}

// lane returns the lane between two ranks.
func (f *Fake) lane(from, to int) *lane { return &f.lanes[from*len(f.ranks)+to] }
