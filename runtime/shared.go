package runtime

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"sync/atomic"

	"github.com/gorun-hpc/gorun/internal/callsite"
	"github.com/gorun-hpc/gorun/runtime/internal/arena"
	"github.com/gorun-hpc/gorun/runtime/internal/engine"
	"github.com/gorun-hpc/gorun/transport"
)

// Shared is memory of the members of a communicator, or of some of them (NewSharedAmong). Each member has a part in
// its own arena. Members on the same node access each other's parts in place. The initial contents of a part are
// zeros, and pages that are never written cost no memory.
//
// Words order accesses. A rank writes into a part and then calls Signal on a word. A rank that
// reads the new value by Await or Load sees all writes before the Signal. A Shared may be used from
// any goroutine.
type Shared struct {
	world   *World
	memory  *memory
	members []int // world ranks
	me      int   // index of this rank in members
	size    int   // bytes of each member's data
	layout  sharedLayout
	// parts holds every member's part, including the control words that follow the data. The part of a
	// member on another node is nil.
	parts  [][]byte
	lease  arena.Lease
	closed atomic.Bool

	// sleepers counts the members on the node that may sleep while they wait for a word; asleep has
	// a bit for each of them. Both lie in the part of the first member on the node.
	sleepers *Word
	asleep   []*Word
	// barred is true if each member on the node, including this one, makes the processors of this process
	// execute a memory barrier before it sleeps. Signal then needs no barrier of its own.
	barred bool

	// waiting counts the goroutines of this rank that are in Await of this Shared. announced is true while
	// this rank is counted in sleepers. memory.mu guards both.
	waiting   int
	announced bool
}

// sharedLayout has the offsets of the fields of a part. Every field begins a cache line.
//
//	offset        bytes             field                                        used in the part of
//	0             bytesPerRank      data                                         every member
//	sleepers      8                 number of members that may sleep             the first on the node
//	asleep        8 per 64 members  bit set of these members                     the first on the node
//	gone          8 per 64 members  bit set of members that have called Close    every member
type sharedLayout struct {
	sleepers, asleep, gone int
	words                  int // number of words of a bit set
	total                  int // bytes of a part
}

// sharedLine is the size of a cache line, which separates words that different ranks write.
const sharedLine = 64

// sharedMax bounds the data of a part, so that the size of the part does not overflow.
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

// The words with which a member describes its part to the other members.
const (
	cardFailed = iota // not 0 if the member has no part
	cardSize
	cardNode
	cardAddr
	cardToken
	cardWords
)

// tagShared is the tag of NewShared in the control context. It is the engine's largest
// tag, which no other agreement uses.
const tagShared = engine.TagMax

// NewShared allocates bytesPerRank bytes for every member of c. All members call it with the same
// size. If one member cannot allocate or map the memory, or passes another size, all members get an
// error. If a rank is lost during the call, some members may get an error and others a Shared. Members
// on other nodes take part in the call, but this rank cannot access their parts.
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

// newSharedOf is NewShared for the members with these world ranks; me is the caller's index in
// members.
func newSharedOf(c *Comm, members []int, me, bytesPerRank int) (*Shared, error) {
	if err := c.core.agreeing.enter(tagShared); err != nil {
		return nil, c.giveUp("new shared memory", err)
	}
	defer c.core.agreeing.leave(tagShared)
	s := newShared(c, members, me, bytesPerRank)
	a := agreement{comm: c, ranks: s.members, rank: s.me, tag: tagShared}
	card, err := s.allocate()
	cards, lost := a.allgather(card)
	if lost == nil && err == nil {
		err = s.attach(cards)
	}
	// In a second round every member learns whether all members have succeeded. Without this round,
	// a member could later wait for a member that has failed.
	var votes []uint64
	if lost == nil {
		// If this round fails, other members may already use this rank's part, so it stays allocated.
		votes, lost = a.allgather([]uint64{wordOf(err != nil)})
	} else if s.lease.Bytes != nil {
		// This rank does not vote, so the call fails at every member, and none uses this rank's part.
		lost = joinErrors(lost, s.memory.arena.Free(s.lease))
	}
	if lost != nil {
		return nil, c.giveUp("new shared memory", lost)
	}
	for i := 0; err == nil && i < len(votes); i++ {
		if votes[i] != 0 {
			err = fmt.Errorf("world rank %d could not map the part of another member", s.members[i])
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

// allocate allocates this rank's part and returns the words that describe it to the other members.
// The words are valid even if there is an error.
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

// attach maps the parts of the other members on this node. cards has the words that describe the
// parts.
func (s *Shared) attach(cards []uint64) error {
	card := func(rank int) []uint64 { return cards[rank*cardWords:][:cardWords] }
	first := s.me
	s.barred = s.memory.node.Barred(s.members[s.me])
	for rank := range s.members {
		switch theirs := card(rank); {
		case theirs[cardSize] != uint64(s.size):
			return fmt.Errorf("%w: world rank %d passed a size of %d bytes", ErrArgument, s.members[rank], int(theirs[cardSize]))
		case theirs[cardFailed] != 0:
			return fmt.Errorf("world rank %d could not allocate its part", s.members[rank])
		case rank == s.me || theirs[cardNode] != card(s.me)[cardNode]:
		default:
			key := transport.Key{Addr: theirs[cardAddr], Token: theirs[cardToken]}
			if key.Addr%uint64(os.Getpagesize()) != 0 {
				return fmt.Errorf("%w: world rank %d has a part at %#x, which is not aligned to a page", ErrArgument, s.members[rank], key.Addr)
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

// Part returns the data of a member's part, or nil if the member is on another node. The
// data are bytesPerRank bytes and begin at the start of a page.
func (s *Shared) Part(rank int) []byte {
	if s.parts[rank] == nil {
		return nil
	}
	return s.parts[rank][:s.size:s.size]
}

// Word returns the word at byte off of a member's part; the argument off is a multiple of 8. Word
// panics if off is invalid or the member is on another node.
func (s *Shared) Word(rank, off int) *Word {
	if off < 0 || off%wordBytes != 0 || off+wordBytes > s.size {
		panic(fmt.Sprintf("runtime: no Word at %d of a part of %d bytes", off, s.size))
	}
	if s.parts[rank] == nil {
		panic(fmt.Sprintf("runtime: the part of rank %d is on another node", rank))
	}
	return wordAt(s.parts[rank], off)
}

// SharedView returns b as a slice of values of type T, without a last incomplete value. b is
// a part of a Shared or the bytes of a Buffer, or begins at an offset in them that is a multiple of T's alignment.
// SharedView panics if T cannot be an element, or if b is not aligned for T.
func SharedView[T any](b []byte) []T {
	if align, over := alignment[T](b); over != 0 {
		panic(fmt.Sprintf("runtime: a SharedView of %v must begin at an address that is a multiple of %d, but the slice begins %d bytes after one",
			reflect.TypeFor[T](), align, over))
	}
	return elementsIn[T](b)
}

// elementsIn is SharedView without the check of the alignment. A short message may begin at any address.
func elementsIn[T any](b []byte) []T {
	e := elementOf[T]()
	if e.err != nil {
		panic(e.err)
	}
	return viewOf[T](b, count(len(b), e.size))
}

// Close ends the use of the memory at this member. Every member calls it. The call does not wait for
// the other members. The memory of this member's part is reused when each of the other members on the
// node has called Close or has ended. A second Close returns ErrArgument.
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

// part returns the record by which this rank's memory frees the part when no member uses it.
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
