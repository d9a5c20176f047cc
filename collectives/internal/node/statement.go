package node

import (
	"encoding/binary"
	"fmt"
	"sync/atomic"

	"github.com/gorun-hpc/gorun/internal/processor"
)

// Call describes a member's call of an operation by two numbers, which the caller of this package
// defines. They must be equal for calls that match.
type Call struct{ What, Bytes uint64 }

// Fingerprint returns a hash of c, of 64 bits.
func (c Call) Fingerprint() uint64 {
	h := c.What*0x9e3779b97f4a7c15 ^ c.Bytes*0xc2b2ae3d27d4eb4f
	h ^= h >> 29
	return h * 0xbf58476d1ce4e5b9
}

// The layout of a word that announces a step of a small operation. Its low bits have the fingerprint
// of the member's calls so far, so that members compare their calls without an additional read. The
// fingerprint covers all calls so far, because in some calls a member reads no word of another
// member. For example, a member that only contributes to a reduction does not notice that the others
// have passed another root.
//
//	bits 63:16  step
//	bits 15:0   fingerprint
const (
	markBits = 16
	markMask = 1<<markBits - 1
)

// MismatchError is the error of two members whose calls differ. Theirs is zero if the other member's
// call is not known. If no member is known whose call differs, Other equals Member.
type MismatchError struct {
	Member, Other int
	Mine, Theirs  Call
	// Number is the number of the call: the first call of Enter has number 1 plus the argument of Begin, if Begin was
	// called before.
	Number uint64
	// Here and There are the source lines of Member's and Other's call. There is empty if Other has not
	// detected the mismatch yet.
	Here, There string
}

// Error implements error.
func (e *MismatchError) Error() string {
	return fmt.Sprintf("members %d and %d call different operations: %+v, %+v", e.Member, e.Other, e.Mine, e.Theirs)
}

// Every member describes its last calls in its part of the small operations' memory. It writes by
// plain stores. Other members read these descriptions if calls differ or a wait takes long. In large
// operations, other members also read the descriptions at the first segment and at each read of
// private memory.
//
//	offset   0  latest  number of the last call
//	offset   8  recent  the last three calls, in the format of the ring: a neighbor has to
//	                    read only this cache line
//	offset  64  place   1 + number of the call whose source line follows
//	offset  72          length of the source line, then its text
//	offset 256  ring    Bytes and What of each of the last calls
const (
	placeOffset      = 64
	placeMax         = 256 - placeOffset - 16
	ringOffset       = 256
	statementBytes   = 16
	statementCount   = 2 * slotsMax // because a root may be ahead by as many calls as there are slots and segments
	recentOffset     = 8
	recentCount      = 3
	statementsLength = ringOffset + statementCount*statementBytes
)

// statements is this member's current call, and where the descriptions of all members' calls are.
type statements struct {
	// parts[q] is the memory in which member q describes its calls.
	parts [][]byte
	// number is the number of the current call.
	number uint64
	call   Call
	// mark is a part of the fingerprint of all calls so far: the part that is written to words in
	// shared memory, see markBits.
	mark  uint64
	place func() string
}

// Trail is the fingerprint of a sequence of calls. 0 stands for no calls.
type Trail uint64

// trailFactor is the factor by which a trail is multiplied. The multiplication spreads a difference
// between two trails to the bits above the difference. The factor is odd, so that a difference never
// disappears.
const trailFactor = 0x9e3779b97f4a7c15

// Follow appends c to the sequence, and returns the fingerprint of the whole sequence. The high bits
// of the fingerprint are better distributed than the low bits.
func (t *Trail) Follow(c Call) uint64 {
	*t = Trail((uint64(*t) ^ c.Fingerprint()) * trailFactor)
	return uint64(*t)
}

// Enter records this member's next call, c. trail is the fingerprint of all calls of the member, c
// included. Only calls that are recorded by Enter are compared. Enter costs a few plain stores.
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

// Begin sets the number of calls that this member made before the first call of Enter. These calls
// have no descriptions.
func (g *Group) Begin(calls uint64) { g.said.number = calls }

func recentAt(n uint64) int { return recentOffset + int(n%recentCount)*statementBytes }

// latest returns the number of member q's last call.
func (s *statements) latest(q int) uint64 { return atomic.LoadUint64(uint64At(s.parts[q], 0)) }

// of returns member q's description of call n. It returns false if q has not reached call n, or if q
// may have overwritten the entry. A member writes the entry of its next call before it writes the
// number of that call.
func (s *statements) of(q int, n uint64) (Call, bool) {
	at := ringOffset + int(n%statementCount)*statementBytes
	c := Call{Bytes: atomic.LoadUint64(uint64At(s.parts[q], at)), What: atomic.LoadUint64(uint64At(s.parts[q], at+8))}
	last := s.latest(q)
	return c, n > 0 && last >= n && last < n+statementCount-1
}

// same reports whether the last call of member q equals the call with the same number of this member,
// me. It returns true only if the call is one of this member's last three calls. If same returns
// false, the calls may be equal or not.
func (s *statements) same(me, q int) bool {
	n := s.latest(q)
	if n == 0 || n > s.number || n+recentCount <= s.number {
		return false
	}
	theirs, mine, at := s.parts[q], s.parts[me], recentAt(n)
	return *uint64At(mine, at+8) == atomic.LoadUint64(uint64At(theirs, at+8)) && *uint64At(mine, at) == atomic.LoadUint64(uint64At(theirs, at))
}

// agree compares the current call of this member with the current call of member q. If one of the two
// members is ahead, agree compares the last call that both have reached.
func (g *Group) agree(q int) error {
	s := &g.said
	if s.same(g.rank, q) {
		return nil
	}
	return g.compare(q, min(s.number, s.latest(q)))
}

// compare compares call n of this member with call n of member q. If one of the two descriptions is
// overwritten, it returns no error.
func (g *Group) compare(q int, n uint64) error {
	theirs, known := g.said.of(q, n)
	mine, still := g.said.of(g.rank, n)
	if !known || !still || mine == theirs {
		return nil
	}
	return g.mismatch(q, n, mine, theirs)
}

// agreeSoFar compares the calls that this member and member q have both reached, the oldest first. It
// omits calls whose descriptions are overwritten.
func (g *Group) agreeSoFar(q int) error {
	last := min(g.said.number, g.said.latest(q))
	for n := last - min(last, statementCount) + 1; n <= last; n++ {
		if err := g.compare(q, n); err != nil {
			return err
		}
	}
	return nil
}

// agreeAround compares this member's call with the calls of both neighbors in the ring of all
// members. Comparing with the neighbors is enough. If the calls of any two members differ, then the
// calls of two neighbors differ, too. The neighbor that begins to wait later detects the
// difference.
func (g *Group) agreeAround() error {
	if err := g.agreeNext(); err != nil {
		return err
	}
	return g.agree((g.rank + g.size - 1) % g.size)
}

// Agree compares all calls of this member whose descriptions are not overwritten with the calls of
// both neighbors. It does not wait.
func (g *Group) Agree() error {
	if err := g.agreeSoFar((g.rank + 1) % g.size); err != nil {
		return err
	}
	return g.agreeSoFar((g.rank + g.size - 1) % g.size)
}

// agreeNext compares this member's call only with the call of the next member. This comparison is
// enough for a member that waits at the arrival counter, because the counter compares the calls of all
// members that have arrived. A member that waits for another word compares its call with the calls of
// both neighbors.
func (g *Group) agreeNext() error { return g.agree((g.rank + 1) % g.size) }

// marked returns an error if the fingerprint in word differs from this member's fingerprint. Member q
// has written word.
func (g *Group) marked(q int, word uint64) error {
	if word&markMask == g.said.mark {
		return nil
	}
	if err := g.agreeSoFar(q); err != nil {
		return err
	}
	return g.mismatch(q, g.said.number, g.said.call, Call{})
}

// differ returns the error of calls that differ. It is called if the sum of the fingerprints is
// wrong. It looks for a member whose call differs from this member's call.
func (g *Group) differ() error {
	for q := range g.size {
		if err := g.agreeSoFar(q); err != nil {
			return err
		}
	}
	return g.mismatch(g.rank, g.said.number, g.said.call, Call{})
}

// mismatch returns the error of calls that differ. It publishes this member's source line before it
// reads the source line of the other member. So the second of the two members to detect the
// mismatch knows both lines.
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
