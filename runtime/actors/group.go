package actors

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/gorun-hpc/gorun/runtime"
)

// The errors of Groups.
var (
	// ErrMember: an actor is not a member of the Group, or NewGroup got a wrong list of members.
	ErrMember = errors.New("not a member of the group")
	// ErrRound: the contributions of members of a rank to a round differ in type or length.
	ErrRound = errors.New("the contributions to a round differ")
)

// errJoin is the error of a round in which the function join of Contribute has panicked.
var errJoin = errors.New("the function join of a member has panicked")

// Group is a communicator whose members are actors, one or several of each rank. The members execute
// rounds; a round is for example an AllReduce. For a member, a round begins with a call of
// Contribute, which returns at once, and ends when the member receives a message with the result.
// Between the call and this message, the actor handles other messages. Rounds are collective: the n-th
// call of every member belongs to the n-th round.
type Group struct {
	s       *System
	comm    *runtime.Comm
	members []*actor.PID // of this rank

	// mu guards the fields below it.
	mu      sync.Mutex
	rounds  []*round       // rounds that have begun, but have not been run yet, in order
	next    int            // number of rounds[0]
	calls   map[string]int // number of Contribute calls, by id of the member
	running bool           // a goroutine executes the method work
}

// round holds the contributions of the members of this rank.
type round struct {
	here int // number of contributions so far
	// run computes the result of the round from sum, the sum of the contributions of this rank.
	run func(c *runtime.Comm) (any, error)
	sum any
	err error
}

// Result is the message to every member at the end of a round.
type Result[T any] struct {
	// Round is the number of the round, from 0.
	Round int
	// Values is the result. The members of a rank share the slice and must not change it.
	Values []T
	// Err is the error of the round, or nil.
	Err error
}

// NewGroup makes a group of actors of all ranks of c. It is collective over c. Every rank passes at
// least one actor. A rank passes only its own actors, each of them once. Otherwise it gets ErrMember, and
// the other ranks wait until it calls NewGroup again.
func (s *System) NewGroup(c *runtime.Comm, members ...*actor.PID) (*Group, error) {
	if len(members) == 0 {
		return nil, fmt.Errorf("%w: rank %d names no actor", ErrMember, c.Rank())
	}
	for i, m := range members {
		switch {
		case m == nil || m.Address != s.Address():
			return nil, fmt.Errorf("%w: %s is not an actor of rank %d", ErrMember, name(m), s.Rank())
		case slices.ContainsFunc(members[:i], m.Equal):
			return nil, fmt.Errorf("%w: rank %d names %s twice", ErrMember, s.Rank(), name(m))
		}
	}
	own, err := c.Dup()
	if err != nil {
		return nil, err
	}
	return &Group{s: s, comm: own, members: slices.Clone(members), calls: make(map[string]int)}, nil
}

// Contribute passes a member's contribution to its next round. A copy of the first contribution of a rank begins the
// sum. join adds each further contribution (into += values); it is called in the order of the Contribute calls. Calls
// of Contribute for the group wait until join has returned, so join must not call Contribute for the same group. When
// every member of this rank has contributed, a goroutine of the group calls run with the sum and with the communicator
// of the group. run computes the result of all ranks, usually by one collective operation. Then every member of this
// rank receives the *Result[T]. The caller must not change values after the call of Contribute. If join panics, the
// panic continues in the caller of Contribute, and the round fails.
func Contribute[T any](g *Group, member *actor.PID, values []T, join func(into, values []T), run func(c *runtime.Comm, sum []T) ([]T, error)) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if member == nil || !slices.ContainsFunc(g.members, member.Equal) {
		return fmt.Errorf("%w: %s", ErrMember, name(member))
	}
	number := g.calls[member.Id]
	g.calls[member.Id]++
	r := g.round(number)
	defer g.contributed(r)
	r.run = func(c *runtime.Comm) (any, error) {
		result := &Result[T]{Round: number, Err: r.err}
		if r.err == nil {
			result.Values, result.Err = run(c, r.sum.([]T))
		}
		return result, result.Err
	}
	switch sum := r.sum.(type) {
	case nil:
		r.sum = append(make([]T, 0, len(values)), values...)
	case []T:
		if len(sum) != len(values) {
			r.err = fmt.Errorf("%w: %s contributed %d values, earlier members of its rank %d", ErrRound, name(member), len(values), len(sum))
			break
		}
		before := r.err
		r.err = errJoin // if join panics
		join(sum, values)
		r.err = before
	default:
		r.err = fmt.Errorf("%w: %s contributed a %T, earlier members of its rank a %T", ErrRound, name(member), values, r.sum)
	}
	return nil
}

// round returns the round with this number. mu is held.
func (g *Group) round(number int) *round {
	n := number - g.next
	for len(g.rounds) <= n {
		g.rounds = append(g.rounds, &round{})
	}
	return g.rounds[n]
}

// contributed counts a contribution to a round. If the round is the next one and complete at this rank, contributed
// starts the goroutine that runs it. mu is held.
func (g *Group) contributed(r *round) {
	if r.here++; r.here == len(g.members) && !g.running && r == g.rounds[0] {
		g.running = true
		go g.s.world.Guard(g.work)
	}
}

// Close ends the group. It is local. Every rank closes the group after its last round. If a round has not ended, it
// fails with ErrCommClosed as soon as every member of this rank has contributed.
func (g *Group) Close() error { return g.comm.Close() }

// work runs the rounds that are complete at this rank, in order.
func (g *Group) work() {
	for {
		g.mu.Lock()
		if len(g.rounds) == 0 || g.rounds[0].here < len(g.members) {
			g.running = false
			g.mu.Unlock()
			return
		}
		r := g.rounds[0]
		g.rounds = g.rounds[1:]
		g.next++
		g.mu.Unlock()
		result, err := r.run(g.comm)
		if err != nil {
			g.comm.Break(err) // because the other ranks may wait for this rank in the collective operation
		}
		for _, m := range g.members {
			g.s.Root.Send(m, result)
		}
	}
}
