package actors

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/gorun-hpc/gorun/runtime"
)

// ErrMember refuses an actor that is not in a Group, and members that disagree.
var ErrMember = errors.New("not a member of the group")

// Group is a communicator whose members are actors, one or several of each rank.
// A round, for example an AllReduce, begins for an actor with a call of Contribute, which
// returns at once, and ends with a message. Meanwhile the actor handles other messages. Rounds
// are collective: the n-th call of every member belongs to the n-th round.
type Group struct {
	s       *System
	comm    *runtime.Comm
	members []*actor.PID // of this rank

	// mu guards the fields below it.
	mu      sync.Mutex
	rounds  []*round       // begun and not yet run, in order
	next    int            // number of rounds[0]
	calls   map[string]int // by id of the member
	running bool
}

// round holds the contributions of the members of this rank.
type round struct {
	here int
	// run computes the result from sum, which is the part of this rank.
	run func(c *runtime.Comm) (any, error)
	sum any
	err error
}

// Result is the message to every member at the end of a round.
type Result[T any] struct {
	// Round counts from 0.
	Round int
	// Values are the result. The members of a rank share it and must only read it.
	Values []T
	// Err is the error of the round, or nil.
	Err error
}

// NewGroup makes a group of actors of all ranks of c. It is collective over c. Every rank passes
// at least one actor of its own.
func (s *System) NewGroup(c *runtime.Comm, members ...*actor.PID) (*Group, error) {
	if len(members) == 0 {
		return nil, fmt.Errorf("%w: rank %d names no actor", ErrMember, c.Rank())
	}
	own, err := c.Dup()
	if err != nil {
		return nil, err
	}
	return &Group{s: s, comm: own, members: members, calls: make(map[string]int)}, nil
}

// Contribute gives a member's part of its next round. When every member of this rank has
// given its part, and join has summed the parts in the order of the calls (into += values),
// run is called with the sum, on a goroutine of the group and with its communicator. It computes
// the result of all ranks, mostly by one collective. Every member of this rank receives the
// *Result[T]. values must not be changed afterwards.
func Contribute[T any](g *Group, member *actor.PID, values []T, join func(into, values []T), run func(c *runtime.Comm, sum []T) ([]T, error)) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !slices.ContainsFunc(g.members, member.Equal) {
		return fmt.Errorf("%w: %s", ErrMember, name(member))
	}
	n := g.calls[member.Id] - g.next
	g.calls[member.Id]++
	for len(g.rounds) <= n {
		g.rounds = append(g.rounds, &round{})
	}
	r := g.rounds[n]
	switch sum := r.sum.(type) {
	case nil:
		r.sum = append(make([]T, 0, len(values)), values...)
	case []T:
		if len(sum) == len(values) {
			join(sum, values)
			break
		}
		r.err = fmt.Errorf("%w: %d values beside %d in one round", ErrMember, len(values), len(sum))
	default:
		r.err = fmt.Errorf("%w: %T beside %T in one round", ErrMember, values, r.sum)
	}
	number := g.calls[member.Id] - 1
	r.run = func(c *runtime.Comm) (any, error) {
		result := &Result[T]{Round: number, Err: r.err}
		if r.err == nil {
			result.Values, result.Err = run(c, r.sum.([]T))
		}
		return result, result.Err
	}
	if r.here++; r.here == len(g.members) && !g.running && n == 0 {
		g.running = true
		go g.work()
	}
	return nil
}

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
			g.comm.Break(err) // the others wait for this rank
		}
		for _, m := range g.members {
			g.s.Root.Send(m, result)
		}
	}
}
