package collectives

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/gorun-hpc/gorun/internal/callsite"
	"github.com/gorun-hpc/gorun/internal/processor"
	"github.com/gorun-hpc/gorun/runtime"
)

// coupling holds this rank's state for the operations on an Intercomm. It is an attribute of the
// Intercomm. The communicator of this rank's group has the attribute couplingAnswers, which refers
// to the coupling.
type coupling struct {
	// home is the Intercomm's communicator, without the context.Context of an operation.
	home *runtime.Comm
	rank int // this rank's number in its own group
	size int // the number of ranks of the other group
	// side is 0 or 1. It is 0 in the group whose first rank has the lower rank in the World.
	side int
	// number is the number of the latest blocking call, counted from 1. The goroutine of the call in
	// progress owns the field.
	number uint64

	// The fields below may be used by any goroutine.

	// busy is 1 while a blocking operation is in progress.
	busy uint32
	// blocking and nonblocking record the latest calls of each kind.
	blocking, nonblocking record
	// started counts nonblocking operations.
	started atomic.Uint64
	watch   watch
}

var (
	_ runtime.Answerer  = (*coupling)(nil)
	_ runtime.Describer = (*coupling)(nil)
)

// couplingKey is the key of the attribute.
type couplingKey struct{}

// couplingAnswers is an attribute of the communicator of this rank's group. It answers the questions
// of the group's members about this rank's calls on the Intercomm.
type couplingAnswers struct{ c *coupling }

// Answer implements runtime.Answerer.
func (a couplingAnswers) Answer(subject uint64) []byte { return a.c.Answer(subject) }

// coupled returns the coupling of an Intercomm. The first call makes it.
func coupled(t *runtime.Intercomm) (*coupling, error) {
	v, err := t.Attribute(couplingKey{}, func() (any, error) {
		c := &coupling{home: t.Private().WithContext(context.Background()), rank: t.Rank(), size: t.RemoteSize()}
		if t.Local().WorldRank(0) > t.WorldRank(0) {
			c.side = 1
		}
		_, err := t.Local().Attribute(couplingKey{}, func() (any, error) { return couplingAnswers{c}, nil })
		return c, err
	})
	if err != nil {
		return nil, err
	}
	return v.(*coupling), nil
}

// begin starts a blocking operation. If it returns no error, the caller must call end.
func (k *interCall) begin() (*crossing, error) {
	if !atomic.CompareAndSwapUint32(&k.busy, 0, 1) {
		var here callsite.Site
		here.Note()
		other, _ := k.blocking.of(k.blocking.highest() % labelNumbers)
		err := fmt.Errorf("%w: %v at %s while another goroutine is in %s at %s: use an Intercomm per goroutine, see Dup",
			runtime.ErrInUse, k.op, here.Line(packagePath), describe(other.Call), other.line)
		k.t.Break(err)
		return nil, err
	}
	k.number++
	x := k.crossing(k.number)
	x.across.tag, x.across.comm = tagBlocking, k.t.Private()
	k.blocking.note(k.number, x.said, label(x.said.Fingerprint(), k.number), &x.site)
	k.watch.wake(k.coupling)
	return x, nil
}

// end ends a blocking operation; err is the error of the operation or nil.
func (k *interCall) end(err error) error {
	if err == nil {
		processor.Store32(&k.busy, 0)
		return nil
	}
	k.t.Break(err)
	processor.Store32(&k.busy, 0)
	return k.refuse(lostWithin(k.t.Comm, err))
}

// launch numbers and records a nonblocking operation. It returns this rank's part in the operation.
func (k *interCall) launch() *crossing {
	n := k.started.Add(1)
	x := k.crossing(n)
	x.started = subjectStarted
	x.across.tag, x.local.tag = tagStarted+int(n%tagsStarted), tagInter+int(n%tagsStarted)
	k.nonblocking.note(n, x.said, label(x.said.Fingerprint(), n), &x.site)
	return x
}

// crossing returns this rank's part in call n.
func (k *interCall) crossing(n uint64) *crossing {
	x := &crossing{coupling: k.coupling, group: k.t.Local(), said: k.said, first: k.rank == 0}
	x.site.Note()
	x.said.What |= n % interNumbers << interNumber
	x.across.rank, x.across.size = k.rank, k.size
	x.local.rank, x.local.size = k.rank, k.t.Local().Size()
	x.across.label.Set(label(x.said.Fingerprint(), n))
	x.local.label.Set(label(x.said.Fingerprint(), n))
	return x
}

// Close ends the watch when the Intercomm is closed. If a message remains that no operation has
// received, Close compares the call in which it was sent with this rank's call of the same number,
// and returns an error if they differ.
func (c *coupling) Close() error {
	c.watch.end()
	if c.home.Broken() {
		return nil
	}
	for _, u := range c.home.Unreceived() {
		mine, started := &c.blocking, uint64(0)
		if u.Tag != tagBlocking {
			mine, started = &c.nonblocking, subjectStarted
		}
		number := uint64(u.Label) % labelNumbers
		if own, known := mine.of(number); known && own.label != u.Label {
			return c.mismatch(c.home, own, u.Source, number|started)
		}
	}
	return nil
}

// Answer implements runtime.Answerer: it describes the call of this rank that subject identifies.
func (c *coupling) Answer(subject uint64) []byte {
	if subject&subjectInter == 0 {
		return nil
	}
	r := &c.blocking
	if subject&subjectStarted != 0 {
		r = &c.nonblocking
	}
	if s, ok := r.of(subject &^ (subjectInter | subjectStarted)); ok {
		return s.encode()
	}
	return nil
}

// Doing implements runtime.Describer: it describes the blocking operation in progress.
func (c *coupling) Doing() string {
	if !c.underWay() {
		return ""
	}
	s, known := c.blocking.of(c.latest() % labelNumbers)
	if !known {
		return ""
	}
	return fmt.Sprintf("%s, at %s", describe(s.Call), s.line)
}

// underWay and latest implement the interface watched (watch.go).
func (c *coupling) underWay() bool { return atomic.LoadUint32(&c.busy) != 0 }
func (c *coupling) latest() uint64 { return c.blocking.highest() }

// compare implements watched. It asks the ranks that the method partners returns for their calls. Each of
// them answers with a call whose number equals that of this rank's call modulo labelNumbers. If the numbers in the
// word What are equal, too, the calls differ, and this rank has begun no later call, compare breaks the Intercomm.
func (c *coupling) compare(number uint64) {
	low := number % labelNumbers
	mine, known := c.blocking.of(low)
	if !known || c.home.Err() != nil {
		return
	}
	for _, rank := range c.partners(mine.What) {
		theirs := ask(c.home, rank, low|subjectInter)
		same := theirs.What != 0 && (theirs.What^mine.What)>>interNumber%interNumbers == 0
		if same && theirs.Call != mine.Call && c.latest() == number {
			c.home.Break(c.mismatch(c.home, mine, rank, low))
			return
		}
	}
}

// partners returns the ranks of the other group that the method compare asks for their calls. The
// argument what is the word What of this rank's call. In an operation with a root, the result at the root
// is the first rank of the other group, and the result at a rank of the other group is the root. No other
// messages cross between the groups in such an operation. In an operation without a root, or if this rank
// has passed runtime.ProcNull, partners returns the first rank of the other group and the ranks that this
// rank waits for.
func (c *coupling) partners(what uint64) []int {
	root := rootIn(what)
	switch {
	case root == 0:
		return append(c.home.AwaitedRanks(), 0)
	case int(what>>interSide&1) == c.side:
		return []int{0}
	}
	return []int{root - 1}
}

// mismatch returns the error of a call of this rank that does not match a call of rank peer of comm.
// It asks peer for the call that subject identifies.
func (c *coupling) mismatch(comm *runtime.Comm, mine statement, peer int, subject uint64) *MismatchError {
	theirs := ask(comm, peer, subject|subjectInter)
	return &MismatchError{
		Rank: c.rank, Peer: peer, Call: describe(mine.Call), PeerCall: describe(theirs.Call), Line: mine.line, PeerLine: theirs.line,
		across: comm.Remote(), odd: c.odd(comm, peer, mine, theirs, subject|subjectInter),
	}
}

// odd decides whether this rank or peer made the wrong call, and returns that rank's number in the
// World. It asks up to arbitersMax other ranks for their calls. The first of these ranks that made one of
// the two calls decides: the call that it did not make is the wrong one. If the two calls are equal, or if
// none of the asked ranks made either call, odd returns the lower of the two numbers.
func (c *coupling) odd(comm *runtime.Comm, peer int, mine, theirs statement, subject uint64) int {
	me, other, asked := comm.World().Rank(), comm.WorldRank(peer), 0
	for rank := 0; rank < comm.Size() && asked < arbitersMax && mine.Call != theirs.Call; rank++ {
		if rank == peer || comm.WorldRank(rank) == me {
			continue
		}
		asked++
		switch ask(comm, rank, subject).Call {
		case mine.Call:
			return other
		case theirs.Call:
			return me
		}
	}
	return min(me, other)
}
