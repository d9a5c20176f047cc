package collectives

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/gorun-hpc/gorun/collectives/internal/node"
	"github.com/gorun-hpc/gorun/internal/callsite"
	"github.com/gorun-hpc/gorun/runtime"
)

var (
	_ runtime.Answerer  = (*group)(nil)
	_ runtime.Describer = (*group)(nil)
)

// Answer implements runtime.Answerer: it describes the call of this member that subject identifies. For
// a subject with subjectHistory (see label.go) it returns the history of all recorded calls of one kind.
func (g *group) Answer(subject uint64) []byte {
	switch subject {
	case subjectHistory:
		return g.blocking.history()
	case subjectHistory | subjectStarted:
		return g.nonblocking.history()
	}
	r, number := &g.blocking, subject
	if subject&subjectStarted != 0 {
		r, number = &g.nonblocking, subject&^subjectStarted
	}
	if s, ok := r.of(number); ok {
		return s.encode()
	}
	return nil
}

// Doing implements runtime.Describer: it describes the blocking operation in progress or, between the steps of an
// operation with values, that operation.
func (g *group) Doing() string {
	if busy := atomic.LoadUint32(&g.busy); busy != busyBlocking {
		if op, line := g.values.current(); busy == busyValues && op != "" {
			return fmt.Sprintf("%s, at %s", op, line)
		}
		return ""
	}
	n := g.latest()
	s, known := g.blocking.of(n % labelNumbers)
	if !known {
		return ""
	}
	return fmt.Sprintf("%s, call %d, at %s", describe(s.Call), n, s.line)
}

// explain returns the error of an operation that ended with err. If members called different
// operations, the result is a MismatchError that names both calls; otherwise the result is err. If the operation is
// blocking, mine records this rank's blocking calls, and started is 0. If it is nonblocking, mine records this rank's
// nonblocking calls, and started is subjectStarted.
func (g *group) explain(c *runtime.Comm, err error, mine *record, started uint64) error {
	var shared *node.MismatchError
	var met *runtime.LabelError
	switch {
	case errors.As(err, &shared):
		return g.mismatchOnNode(c, shared)
	case errors.As(err, &met):
		wanted, sent := uint64(met.Want)%labelNumbers, uint64(met.Sent)%labelNumbers
		if started == 0 {
			if first, differs := g.differsFrom(c, met.Source, &g.blocking, 0); differs {
				wanted, sent = first, first // the error names the first two calls that differ
			}
		}
		own, _ := mine.of(wanted)
		return g.mismatch(c, own, wanted|started, met.Source, ask(c, met.Source, sent|started), sent|started)
	}
	return err
}

// mismatchOnNode returns the error of two calls that were compared in shared memory. Shared memory
// has the source line of a member only if that member has detected the mismatch. If the other member's
// line is missing, mismatchOnNode asks that member for it.
func (g *group) mismatchOnNode(c *runtime.Comm, e *node.MismatchError) error {
	number := e.Number % labelNumbers
	e.Member, e.Other = g.parts.Mine()[e.Member], g.parts.Mine()[e.Other]
	if own, known := g.blocking.of(number); known {
		e.Mine, e.Here = own.Call, own.line
	}
	if e.Other != e.Member && e.There == "" {
		if theirs := ask(c, e.Other, number); theirs.What != 0 {
			e.Theirs, e.There = theirs.Call, theirs.line
		}
	}
	return &MismatchError{
		Rank: e.Member, Peer: e.Other, Call: describe(e.Mine), PeerCall: describe(e.Theirs), Line: e.Here, PeerLine: e.There,
		odd: g.odd(c, e.Other, e.Mine, e.Theirs, number),
	}
}

// arbitersMax is the largest number of members that odd asks for their calls.
const arbitersMax = 4

// odd decides whether this member or peer made the wrong call, and returns that member's world rank.
// It asks up to arbitersMax other members for their calls at the same point, which subject identifies.
// The first of these members that made one of the two calls decides: the call that it did not make is the
// wrong one. So if only one member's call differs, and an asked member has made its call already, all members that
// detect the mismatch name the one member. If the two calls are equal, or if none of the asked members has made
// either call, odd returns the world rank of this member or of peer, whichever has the lower rank in the communicator.
func (g *group) odd(c *runtime.Comm, peer int, mine, theirs node.Call, subject uint64) int {
	low, asked := min(g.rank, peer), 0
	for rank := 0; rank < g.size && asked < arbitersMax && mine != theirs; rank++ {
		if rank == g.rank || rank == peer {
			continue
		}
		asked++
		switch ask(c, rank, subject).Call {
		case mine:
			return c.WorldRank(peer)
		case theirs:
			return c.WorldRank(g.rank)
		}
	}
	return c.WorldRank(low)
}

// ask returns another member's description of one of its calls. If the member does not answer, or
// no longer has a record of the call, ask returns a zero statement (record.go).
func ask(c *runtime.Comm, rank int, subject uint64) statement {
	text, err := c.Inquire(rank, subject)
	if err != nil {
		return statement{}
	}
	s, _ := parseStatement(text)
	return s
}

// mismatch returns the error of a call of this rank and a call of peer that do not match. subject
// identifies this rank's call, and peerSubject the call of peer (see Answer). If the two calls are
// equal, one of the two ranks has skipped a call, so that the numbers of the calls differ. In this
// case the text of the error has the numbers.
func (g *group) mismatch(c *runtime.Comm, mine statement, subject uint64, peer int, theirs statement, peerSubject uint64) *MismatchError {
	e := &MismatchError{
		Rank: g.rank, Peer: peer, Call: describe(mine.Call), PeerCall: describe(theirs.Call), Line: mine.line, PeerLine: theirs.line,
		odd: g.odd(c, peer, mine.Call, theirs.Call, subject),
	}
	if mine.Call == theirs.Call {
		e.Call += fmt.Sprintf(", call %d", subject&^subjectStarted)
		e.PeerCall += fmt.Sprintf(", call %d", peerSubject&^subjectStarted)
	}
	return e
}

// leftovers compares the calls that members of this node have recorded in shared memory (see node.Group.Agree), and
// returns an error if they differ. It also returns an error if a message was not received, and the label (label.go)
// of the message differs from the label of this member's call of the same number. For example, two members
// may both call a broadcast as root; neither waits for the other. When leftovers is called, the other members
// must have made all their calls.
func (g *group) leftovers() error {
	if g.home.Broken() {
		return nil // the members are known to be out of step
	}
	if g.node != nil {
		if err := g.node.Agree(); err != nil {
			return g.explain(g.home, err, &g.blocking, 0)
		}
	}
	for _, u := range g.home.Unreceived() {
		if u.Tag == tagValue || u.Tag >= tagInter {
			continue
		}
		mine, started := &g.blocking, uint64(0)
		if u.Tag != tagBlocking {
			mine, started = &g.nonblocking, subjectStarted
		}
		number := uint64(u.Label) % labelNumbers
		if own, known := mine.of(number); known && own.label != u.Label {
			return g.mismatch(g.home, own, number|started, u.Source, ask(g.home, u.Source, number|started), number|started)
		}
	}
	return nil
}

// inUse returns the error of the operation op while another goroutine of the same rank is in a blocking operation
// or an operation with values on the communicator. The argument here is the call site of op.
func (g *group) inUse(op string, here *callsite.Site) error {
	if other, line := g.values.current(); other != "" {
		return inUse(op, here, other, line)
	}
	other, _ := g.blocking.of(g.blocking.highest() % labelNumbers)
	return inUse(op, here, describe(other.Call), other.line)
}

// inUse returns the error of the operation op while another goroutine is in the operation other. The argument here
// is the call site of op, and line is the source line of the call of other.
func inUse(op string, here *callsite.Site, other, line string) error {
	return fmt.Errorf("%w: %s at %s while another goroutine is in %s at %s: use a communicator per goroutine, see Dup",
		runtime.ErrInUse, op, here.Line(packagePath), other, line)
}

// line returns the source line of the blocking operation in progress.
func (g *group) line() string {
	s, _ := g.blocking.of(g.number % labelNumbers)
	return s.line
}
