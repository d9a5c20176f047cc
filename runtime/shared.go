package runtime

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"

	"github.com/gorun-hpc/gorun/internal/callsite"
	"github.com/gorun-hpc/gorun/runtime/internal/arena"
	"github.com/gorun-hpc/gorun/runtime/internal/engine"
	"github.com/gorun-hpc/gorun/transport"
)

// Shared is memory that the members of a communicator on one node have in common: each
// member's part lies in its own arena and is used by all of them in place. Its initial
// contents are zeros, and pages that are never written cost no memory.
//
// Words order accesses: write into a part, then Signal a word; a rank that has read the new
// value by Await or Load sees all earlier writes. A Shared may be used from any goroutine.
type Shared struct {
	world   *World
	memory  *memory
	members []int // world ranks
	me      int
	size    int
	layout  sharedLayout
	// parts holds every member's part with its control words behind it; nil for
	// members on other nodes.
	parts  [][]byte
	lease  arena.Lease
	closed atomic.Bool

	// sleepers counts the ranks of the node that sleep or are about to, asleep has
	// a bit for each. Both lie in the part of the first member on the node.
	sleepers *Word
	asleep   []*Word
	// barred says that the processors of this process pass a barrier before a member sleeps.
	barred bool

	// waiting counts the goroutines of this rank in Await, announced says that
	// this rank is among the sleepers. memory.mu guards both.
	waiting   int
	announced bool
}

// sharedLayout says what a part is made of. Every group begins a cache line.
//
//	offset        bytes            what                              in the part of
//	0             bytesPerRank     the members' data                 all members
//	sleepers      8                ranks that may sleep              the first on the node
//	asleep        8 per 64 members which ranks these are             the first on the node
//	gone          8 per 64 members that will not use the part again  all members
type sharedLayout struct {
	sleepers, asleep, gone int
	words                  int // of each set of members
	total                  int
}

// sharedLine separates words that different ranks write: a cache line.
const sharedLine = 64

// sharedMax bounds the size of a part, so that no sum of sizes overflows.
const sharedMax = 1 << 46

func sharedLayoutOf(bytesPerRank, members int) sharedLayout {
	round := func(n int) int { return (n + sharedLine - 1) / sharedLine * sharedLine }
	l := sharedLayout{words: (members + 63) / 64}
	l.sleepers = round(bytesPerRank)
	l.asleep = l.sleepers + sharedLine
	l.gone = l.asleep + round(l.words*wordBytes)
	l.total = l.gone + round(l.words*wordBytes)
	return l
}

// sharedCard is what a member tells the others about its part: its words.
const (
	cardFailed = iota // not 0 if it has none
	cardSize
	cardNode
	cardAddr
	cardToken
	cardWords
)

// tagShared is the tag of NewShared in the control context: the engine's largest,
// which no other agreement has.
const tagShared = engine.TagMax

var errSharedMember = errors.New("another member could not take part")

// NewShared allocates bytesPerRank bytes for every member of c. All members call
// it with the same size, and all of them get an error if one does. Members on
// other nodes take part, but have no part that can be seen here.
func NewShared(c *Comm, bytesPerRank int) (*Shared, error) {
	if err := c.ready(); err != nil {
		return nil, callsite.At(fmt.Errorf("new shared memory: %w", err))
	}
	s, err := newSharedOf(c, c.members(), c.rank, bytesPerRank)
	if err == nil {
		s.world.check.opened(s, "nobody closed the shared memory made")
	}
	return s, err
}

// newSharedOf is NewShared for the members with these world ranks; me is the caller's place among
// them.
func newSharedOf(c *Comm, members []int, me, bytesPerRank int) (*Shared, error) {
	s := newShared(c, members, me, bytesPerRank)
	a := agreement{comm: c, ranks: s.members, rank: s.me, tag: tagShared}
	card, err := s.allocate()
	cards, lost := a.allgather(card)
	if lost == nil && err == nil {
		err = s.attach(cards)
	}
	// A second round, since a member that failed must not be waited for later.
	var votes []uint64
	if lost == nil {
		votes, lost = a.allgather([]uint64{vote(err)})
	}
	if lost != nil {
		// Other members may use the part, so it stays allocated.
		return nil, c.giveUp("NewShared", lost)
	}
	for i := 0; err == nil && i < len(votes); i++ {
		if votes[i] != 0 {
			err = fmt.Errorf("rank %d: %w", i, errSharedMember)
		}
	}
	if err != nil {
		if s.lease.Bytes != nil {
			err = errors.Join(err, s.memory.arena.Free(s.lease))
		}
		return nil, callsite.At(fmt.Errorf("new shared memory of %d bytes a rank: %w", bytesPerRank, err))
	}
	return s, nil
}

// newShared returns a Shared without memory.
func newShared(c *Comm, members []int, me, bytesPerRank int) *Shared {
	w := c.core.world
	return &Shared{
		world: w, memory: w.memory, members: members, me: me,
		size: bytesPerRank, parts: make([][]byte, len(members)),
	}
}

// vote is a word that is not 0 for an error.
func vote(err error) uint64 {
	if err == nil {
		return 0
	}
	return 1
}

// allocate makes this rank's part. The card is valid in any case.
func (s *Shared) allocate() ([]uint64, error) {
	card := make([]uint64, cardWords)
	card[cardFailed], card[cardSize], card[cardNode] = 1, uint64(s.size), uint64(s.world.NodeRank())
	if s.size < 0 || s.size > sharedMax {
		return card, fmt.Errorf("%w: a size of %d bytes", ErrArgument, s.size)
	}
	s.layout = sharedLayoutOf(s.size, len(s.members))
	lease, err := s.memory.allocPart(s.layout.total)
	if err != nil {
		return card, err
	}
	s.lease, s.parts[s.me] = lease, lease.Bytes
	key := s.memory.arena.Key(lease.Off)
	card[cardFailed], card[cardAddr], card[cardToken] = 0, key.Addr, key.Token
	return card, nil
}

// attach finds the parts of the others.
func (s *Shared) attach(cards []uint64) error {
	card := func(rank int) []uint64 { return cards[rank*cardWords:][:cardWords] }
	first := s.me
	s.barred = true
	for rank := range s.members {
		switch theirs := card(rank); {
		case theirs[cardFailed] != 0:
			return fmt.Errorf("rank %d: %w", rank, errSharedMember)
		case theirs[cardSize] != uint64(s.size):
			return fmt.Errorf("%w: rank %d asks for %d bytes", ErrArgument, rank, theirs[cardSize])
		case rank == s.me || theirs[cardNode] != card(s.me)[cardNode]:
		default:
			key := transport.Key{Addr: theirs[cardAddr], Token: theirs[cardToken]}
			if key.Addr%uint64(os.Getpagesize()) != 0 {
				return fmt.Errorf("%w: rank %d has a part at %#x, which is not aligned to a page", ErrArgument, rank, key.Addr)
			}
			part, err := s.memory.node.Shared(s.members[rank], key, s.layout.total)
			if err != nil {
				return err
			}
			s.parts[rank] = part
			first = min(first, rank)
			s.barred = s.barred && s.memory.node.Barred(s.members[rank])
		}
	}
	s.sleepers = wordAt(s.parts[first], s.layout.sleepers)
	s.asleep = make([]*Word, s.layout.words)
	for i := range s.asleep {
		s.asleep[i] = wordAt(s.parts[first], s.layout.asleep+i*wordBytes)
	}
	return nil
}

// Part returns the part of a member, bytesPerRank bytes from the start of a page,
// or nil if the member is on another node.
func (s *Shared) Part(rank int) []byte {
	if s.parts[rank] == nil {
		return nil
	}
	return s.parts[rank][:s.size:s.size]
}

// Word returns the word at byte off of a member's part, a multiple of 8. The
// member must be on this node.
func (s *Shared) Word(rank, off int) *Word {
	if off < 0 || off%wordBytes != 0 || off+wordBytes > s.size {
		panic(fmt.Sprintf("runtime: no Word at %d of a part of %d bytes", off, s.size))
	}
	if s.parts[rank] == nil {
		panic(fmt.Sprintf("runtime: the part of rank %d is on another node", rank))
	}
	return wordAt(s.parts[rank], off)
}

// SharedView returns the whole values of type T that are in b, which is a part
// of a Shared or the bytes of a Buffer. It panics if T cannot be an element.
func SharedView[T any](b []byte) []T {
	e := elementOf[T]()
	if e.err != nil {
		panic(e.err)
	}
	return viewOf[T](b, count(len(b), e.size))
}

// Close ends the use of the memory at this member. Every member calls it; none waits. A
// part is reused when all of them have called it or are down. A second Close is ErrArgument.
func (s *Shared) Close() error {
	if s.closed.Swap(true) {
		return callsite.At(fmt.Errorf("%w: shared memory was closed before", ErrArgument))
	}
	s.world.check.closed(s)
	bit := uint64(1) << (s.me % 64)
	for i, p := range s.parts {
		if p != nil && i != s.me {
			wordAt(p, s.layout.gone+s.me/64*wordBytes).v.Or(bit)
		}
	}
	s.memory.keep(s.part())
	return nil
}

// part describes this rank's part to its owner, which frees it when no member uses it.
func (s *Shared) part() part {
	p := part{lease: s.lease, users: make([]int, len(s.members))}
	for i := range s.layout.words {
		p.gone = append(p.gone, wordAt(s.parts[s.me], s.layout.gone+i*wordBytes))
	}
	for i, rank := range s.members {
		p.users[i] = -1
		if i != s.me && s.parts[i] != nil {
			p.users[i] = rank
		}
	}
	return p
}
