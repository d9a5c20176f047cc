package node

import (
	"encoding/binary"
	"fmt"
	"sync/atomic"

	"github.com/gorun-hpc/gorun/internal/processor"
)

// Call describes a member's operation, in words that the caller of this package defines.
// Equal operations have equal words.
type Call struct{ What, Bytes uint64 }

// Fingerprint is a hash of a call with 64 bits.
func (c Call) Fingerprint() uint64 {
	h := c.What*0x9e3779b97f4a7c15 ^ c.Bytes*0xc2b2ae3d27d4eb4f
	h ^= h >> 29
	return h * 0xbf58476d1ce4e5b9
}

// A word that announces a step of a small operation has the fingerprint of the member's
// calls so far in its low bits, so that members compare them without an additional read. It
// covers all calls, because in some calls no member reads a word of another: in a
// reduction, for example, a member that expects another root than the others.
//
//	bits 63:16  step
//	bits 15:0   fingerprint
const (
	markBits = 16
	markMask = 1<<markBits - 1
)

// MismatchError says that two members call different operations.
type MismatchError struct {
	Member, Other int
	Mine, Theirs  Call
	// Number is that of the call: the first one that was entered is 1.
	Number uint64
	// Here and There are source lines; There is empty if the other member has not detected
	// the mismatch yet.
	Here, There string
}

// Error implements error.
func (e *MismatchError) Error() string {
	return fmt.Sprintf("members %d and %d call different operations: %+v, %+v", e.Member, e.Other, e.Mine, e.Theirs)
}

// statements are every member's descriptions of its last calls, in its part of the small
// memory. They are written by plain stores into cache lines that are read only if calls
// differ or a wait takes long.
//
//	offset   0  latest  number of the last call
//	offset   8  recent  the last three calls, as in the ring: what a neighbour
//	                    looks at is one line
//	offset  64  place   1 + number of the call whose source line follows
//	offset  72          its length, then its text
//	offset 256  ring    of the last calls: bytes, what
const (
	placeOffset      = 64
	placeMax         = 256 - placeOffset - 16
	ringOffset       = 256
	statementBytes   = 16
	statementCount   = 2 * slotsMax // a root may be ahead by the number of slots and segments
	recentOffset     = 8
	recentCount      = 3
	statementsLength = ringOffset + statementCount*statementBytes
)

type statements struct {
	// parts holds every member's statements.
	parts [][]byte
	// number is that of the current call.
	number uint64
	call   Call
	// mark is the part of the fingerprint of all calls so far that is written to shared
	// words.
	mark  uint64
	place func() string
}

// Trail is the fingerprint of a sequence of calls. The zero value is that of none.
type Trail struct {
	last Call
	// hash is the fingerprint of last: most calls equal the one before.
	hash, sum uint64
}

// trailFactor spreads a difference between two trails over the bits above it. It is odd,
// so that the difference stays.
const trailFactor = 0x9e3779b97f4a7c15

// Follow adds a call and returns the fingerprint of all of them. Its high bits are the best
// distributed.
func (t *Trail) Follow(c Call) uint64 {
	if c != t.last {
		t.last, t.hash = c, c.Fingerprint()
	}
	t.sum = (t.sum ^ t.hash) * trailFactor
	return t.sum
}

// Enter records the member's next call, and the fingerprint of its calls including this
// one. Calls that are not entered count as equal. It costs some plain stores.
func (g *Group) Enter(c Call, trail uint64) {
	s := &g.said
	s.number++
	s.call, s.mark = c, trail>>(64-markBits)
	mine := s.parts[g.rank]
	for _, at := range [2]int{ringOffset + int(s.number%statementCount)*statementBytes, recentAt(s.number)} {
		processor.Put64(uint64At(mine, at), c.Bytes)
		processor.Put64(uint64At(mine, at+8), c.What)
	}
	processor.Store64(uint64At(mine, 0), s.number)
}

func recentAt(n uint64) int { return recentOffset + int(n%recentCount)*statementBytes }

// latest returns the number of a member's last call.
func (s *statements) latest(q int) uint64 { return atomic.LoadUint64(uint64At(s.parts[q], 0)) }

// of returns a member's description of call n, if the member has reached the call and the
// entry is not overwritten: an entry is written before the number.
func (s *statements) of(q int, n uint64) (Call, bool) {
	at := ringOffset + int(n%statementCount)*statementBytes
	c := Call{Bytes: atomic.LoadUint64(uint64At(s.parts[q], at)), What: atomic.LoadUint64(uint64At(s.parts[q], at+8))}
	last := s.latest(q)
	return c, n > 0 && last >= n && last < n+statementCount-1
}

// same reports whether member q's last call equals this member's or the one before it;
// false may be wrong.
func (s *statements) same(me, q int) bool {
	n := s.latest(q)
	if n == 0 || n > s.number || n+recentCount <= s.number {
		return false
	}
	theirs, mine, at := s.parts[q], s.parts[me], recentAt(n)
	return *uint64At(mine, at+8) == atomic.LoadUint64(uint64At(theirs, at+8)) && *uint64At(mine, at) == atomic.LoadUint64(uint64At(theirs, at))
}

// agree compares this member's call with that of member q or, if one is ahead, the last
// calls that both have made.
func (g *Group) agree(q int) error {
	s := &g.said
	if s.same(g.rank, q) {
		return nil
	}
	return g.compare(q, min(s.number, s.latest(q)))
}

// compare compares the descriptions of call n by this member and member q, if neither is
// overwritten.
func (g *Group) compare(q int, n uint64) error {
	theirs, known := g.said.of(q, n)
	mine, still := g.said.of(g.rank, n)
	if !known || !still || mine == theirs {
		return nil
	}
	return g.mismatch(q, n, mine, theirs)
}

// agreeSoFar compares all calls of this member and member q whose descriptions are not
// overwritten, the oldest first.
func (g *Group) agreeSoFar(q int) error {
	last := min(g.said.number, g.said.latest(q))
	for n := last - min(last, statementCount) + 1; n <= last; n++ {
		if err := g.compare(q, n); err != nil {
			return err
		}
	}
	return nil
}

// agreeAround compares with the neighbours. If any members differ, then two neighbours
// around the ring do, and the one that waits later detects it.
func (g *Group) agreeAround() error {
	if err := g.agreeNext(); err != nil {
		return err
	}
	return g.agree((g.rank + g.size - 1) % g.size)
}

// Agree compares all calls of this member and its neighbours that are not overwritten. It
// does not wait.
func (g *Group) Agree() error {
	if err := g.agreeSoFar((g.rank + 1) % g.size); err != nil {
		return err
	}
	return g.agreeSoFar((g.rank + g.size - 1) % g.size)
}

// agreeNext compares with the next member only. That is enough for members that wait at the
// arrival counter, which compares them with each other: the first member after them that
// waits elsewhere compares with both neighbours.
func (g *Group) agreeNext() error { return g.agree((g.rank + 1) % g.size) }

// marked compares the fingerprint in a word of member q with this member's.
func (g *Group) marked(q int, word uint64) error {
	if word&markMask == g.said.mark {
		return nil
	}
	if err := g.agreeSoFar(q); err != nil {
		return err
	}
	return g.mismatch(q, g.said.number, g.said.call, Call{})
}

// differ finds the members whose calls differ when the sum of the fingerprints is wrong.
func (g *Group) differ() error {
	for q := range g.size {
		if err := g.agreeSoFar(q); err != nil {
			return err
		}
	}
	return g.mismatch(g.rank, g.said.number, g.said.call, Call{})
}

// mismatch publishes this member's source line, and then reads that of the other: so the
// second member to detect the mismatch knows both lines.
func (g *Group) mismatch(q int, n uint64, mine, theirs Call) error {
	s := &g.said
	e := &MismatchError{Member: g.rank, Other: q, Mine: mine, Theirs: theirs, Number: n}
	if s.place != nil && n == s.number {
		e.Here = s.place()
	}
	b := s.parts[g.rank][placeOffset:]
	length := copy(b[16:16+placeMax], e.Here)
	binary.NativeEndian.PutUint64(b[8:], uint64(length))
	atomic.StoreUint64(uint64At(b, 0), n+1)
	if b = s.parts[q][placeOffset:]; q != g.rank && atomic.LoadUint64(uint64At(b, 0)) == n+1 {
		e.There = string(b[16:][:min(binary.NativeEndian.Uint64(b[8:]), placeMax)])
	}
	return e
}
