package actors

import (
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/gorun-hpc/gorun/runtime"
)

// ErrNameTaken is the error of RegisterName if another live actor has the name.
var ErrNameTaken = errors.New("name is taken")

// ErrNoName is the error of LookupName if the name is not registered.
var ErrNoName = errors.New("no such name")

// ErrAnswer is the error of a request about a name or a snapshot if the answer of a rank is
// malformed.
var ErrAnswer = errors.New("malformed answer")

// namesID is the id of each rank's actor of type names.
const namesID = "$names"

// namesTime is the timeout of each request of RegisterName, UnregisterName and LookupName.
const namesTime = 10 * time.Second

// Operations on a name.
const (
	nameAdd = iota
	nameRemove
	nameFind
	nameOwn    // sent to the actor's rank, which registers the name again if the name's keeper (see keeper) is lost
	nameDisown // the inverse of nameOwn
)

// nameRequest is a request to the keeper of a name, or to the rank of its actor.
type nameRequest struct {
	What        int
	Name        string
	Address, ID string
	// Keeper is the rank that stores the name.
	Keeper int
}

// nameAnswer is the answer to a nameRequest: the actor that has the name, and whether the request was
// refused. If no actor has the name, Address is empty.
type nameAnswer struct {
	Name        string
	Address, ID string
	Refused     bool
}

// rankLost reports the loss of a rank to the actors of this rank that store data for other ranks.
type rankLost struct{ rank int }

func init() {
	RegisterType[nameRequest]()
	RegisterType[nameAnswer]()
}

// nameTable maps names to actors.
type nameTable struct {
	pids map[string]*actor.PID
	by   map[string][]string // the names of each actor; the key is the result of the function name
}

// add maps a name to an actor, in place of any earlier actor.
func (t *nameTable) add(n string, pid *actor.PID) {
	t.remove(n)
	t.pids[n] = pid
	t.by[name(pid)] = append(t.by[name(pid)], n)
}

// remove removes a name.
func (t *nameTable) remove(n string) {
	pid := t.pids[n]
	if pid == nil {
		return
	}
	delete(t.pids, n)
	mine := t.by[name(pid)]
	if mine = slices.DeleteFunc(mine, func(m string) bool { return m == n }); len(mine) > 0 {
		t.by[name(pid)] = mine
	} else {
		delete(t.by, name(pid))
	}
}

// removeAll removes the names of an actor, except those in the set keep.
func (t *nameTable) removeAll(pid *actor.PID, keep map[string]bool) {
	for _, n := range slices.Clone(t.by[name(pid)]) {
		if !keep[n] {
			t.remove(n)
		}
	}
}

// names is an actor that each rank has. It stores the names for which its rank is the keeper, and the
// names of the actors of its rank. If the keeper of such an actor's name is lost, names registers the
// name again at the next keeper. A name is removed when its actor ends.
type names struct {
	s    *System
	kept nameTable    // names for which this rank is the keeper
	own  nameTable    // names of this rank's actors
	down map[int]bool // lost ranks, as reported by rankLost
	// late holds the names that were registered for a PID which the names actor was already watching. That watch
	// may be of an earlier actor with the same PID, and not of the actor that got the name.
	late map[string]bool
}

// Receive implements actor.Actor.
func (n *names) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case nameRequest:
		if m.What < nameAdd || m.What > nameDisown {
			n.refuse(c)
			return
		}
		a := n.answer(c, m)
		a.Name = m.Name
		c.Respond(a)
	case nameAnswer:
		if m.Refused { // another actor has registered the name earlier
			n.release(c, &n.own, m.Name)
		}
	case *rankLost:
		n.lost(c, m.rank)
	case *actor.Terminated:
		n.ended(c, m.Who)
	case *actor.Started, *actor.Stopping, *actor.Stopped, *actor.Restarting:
	default:
		n.refuse(c)
	}
}

// refuse makes the present message a dead letter, so that the sender of the message gets an answer.
func (n *names) refuse(c actor.Context) {
	n.s.deadLetter(c.Self(), &actor.MessageEnvelope{Message: c.Message(), Sender: c.Sender()}, ErrMessage)
}

// isDown reports whether the loss of a rank was reported to this actor.
func (n *names) isDown(rank int) bool { return n.down[rank] }

// lost handles the loss of a rank. If the lost rank was the keeper of names of this rank's actors,
// lost registers these names again.
func (n *names) lost(c actor.Context, rank int) {
	var homeless []string
	for name := range n.own.pids {
		if keeper(name, n.s.Size(), n.isDown) == rank {
			homeless = append(homeless, name)
		}
	}
	n.down[rank] = true
	for _, name := range homeless {
		n.again(c, name, n.own.pids[name])
	}
}

// again registers a name of one of this rank's actors once more, at the present keeper of the name.
func (n *names) again(c actor.Context, name string, pid *actor.PID) {
	to := n.s.PID(keeper(name, n.s.Size(), n.isDown), namesID)
	c.Request(to, nameRequest{What: nameAdd, Name: name, Address: pid.Address, ID: pid.Id})
}

// answer carries out a request and returns the answer.
func (n *names) answer(c actor.Context, m nameRequest) nameAnswer {
	held := n.kept.pids[m.Name]
	pid := actor.NewPID(m.Address, m.ID)
	refused := false
	switch m.What {
	case nameOwn:
		n.take(c, &n.own, m.Name, pid)
		if keeper(m.Name, n.s.Size(), n.isDown) != m.Keeper {
			n.again(c, m.Name, pid) // the keeper that stored the name was lost before this request
		}
		return nameAnswer{Address: m.Address, ID: m.ID}
	case nameDisown:
		if own := n.own.pids[m.Name]; own != nil && own.Equal(pid) {
			n.release(c, &n.own, m.Name)
		}
		return nameAnswer{}
	case nameAdd:
		if refused = held != nil && !held.Equal(pid); !refused {
			n.take(c, &n.kept, m.Name, pid)
			held = pid
		}
	case nameRemove:
		if held != nil && held.Equal(pid) { // otherwise another actor has got the name in the meantime
			n.release(c, &n.kept, m.Name)
		}
	}
	if held == nil {
		return nameAnswer{}
	}
	return nameAnswer{Address: held.Address, ID: held.Id, Refused: refused}
}

// take adds a name to one of the two tables, and watches its actor.
func (n *names) take(c actor.Context, t *nameTable, name string, pid *actor.PID) {
	switch held := n.kept.pids[name]; {
	case !n.knows(pid):
		if pid.Address == n.s.Address() {
			c.Watch(n.s.PID(n.s.Rank(), pid.Id)) // the actor need not exist yet
		} else {
			c.Watch(pid)
		}
	case t == &n.kept || held == nil || !held.Equal(pid): // otherwise this rank has just taken the name as its keeper
		n.late[name] = true
	}
	t.add(name, pid)
}

// ended handles the end of an actor. A late name may belong to a later actor with the same PID. Therefore ended keeps
// late names and watches that actor. If there is no such actor, the watch ends at once, and ended is called again.
func (n *names) ended(c actor.Context, pid *actor.PID) {
	n.kept.removeAll(pid, n.late)
	n.own.removeAll(pid, n.late)
	for _, t := range []*nameTable{&n.kept, &n.own} {
		for _, name := range t.by[name(pid)] {
			delete(n.late, name)
		}
	}
	if n.knows(pid) {
		c.Watch(actor.NewPID(pid.Address, pid.Id))
	}
}

// release removes a name from one of the two tables. It ends the watch of the actor if this was the
// actor's last name.
func (n *names) release(c actor.Context, t *nameTable, name string) {
	pid := t.pids[name]
	delete(n.late, name)
	if t.remove(name); pid != nil && !n.knows(pid) {
		c.Unwatch(pid)
	}
}

// knows reports whether this rank stores a name of an actor.
func (n *names) knows(pid *actor.PID) bool {
	return len(n.kept.by[name(pid)])+len(n.own.by[name(pid)]) > 0
}

// keeper returns the rank that stores a name: the rank that the name's hash selects or, if that rank is
// down, the next rank that is not down.
func keeper(name string, size int, down func(rank int) bool) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(name)) // Write of a hash never fails
	first := int(h.Sum32() % uint32(size))
	for i := range size {
		if rank := (first + i) % size; !down(rank) {
			return rank
		}
	}
	return first
}

// RegisterName gives an actor of any rank a name that every rank can look up. The name is removed
// when the actor ends. The actor need not exist yet; the name is removed if the actor is not spawned
// within Config.Patience. A hash of the name selects the rank that stores the name. If that rank is
// lost, the next rank stores the name as soon as the actor's rank has detected the loss. Until then a
// lookup fails, and another actor can take the name. RegisterName waits for answers. Therefore it
// fails with runtime.ErrInline in an inline actor, and so do UnregisterName and LookupName. Other
// errors are ErrNameTaken, ErrNoRank, ErrAnswer and the error of a request.
func (s *System) RegisterName(name string, pid *actor.PID) error {
	if _, ok := s.RankOf(pid); !ok {
		return fmt.Errorf("register %q: %w: %q", name, ErrNoRank, pid.GetAddress())
	}
	a, at, err := s.askNames(nameRequest{What: nameAdd, Name: name, Address: pid.Address, ID: pid.Id})
	switch {
	case err != nil:
		return err
	case a.Refused:
		return fmt.Errorf("register %q: %w by %s/%s", name, ErrNameTaken, a.Address, a.ID)
	}
	return s.tellOwner(pid, nameRequest{What: nameOwn, Name: name, Address: pid.Address, ID: pid.Id, Keeper: at})
}

// UnregisterName removes a name. It returns nil if the name is not registered.
func (s *System) UnregisterName(name string) error {
	a, _, err := s.askNames(nameRequest{What: nameFind, Name: name})
	if err != nil || a.Address == "" {
		return err
	}
	// The actor's rank removes the name first, so that it does not register the name again if the keeper
	// is lost.
	err = s.tellOwner(actor.NewPID(a.Address, a.ID), nameRequest{What: nameDisown, Name: name, Address: a.Address, ID: a.ID})
	if err == nil {
		_, _, err = s.askNames(nameRequest{What: nameRemove, Name: name, Address: a.Address, ID: a.ID})
	}
	return err
}

// LookupName returns the PID of the actor that has a name. The error is ErrNoName, ErrAnswer,
// runtime.ErrInline or the error of the request.
func (s *System) LookupName(name string) (*actor.PID, error) {
	a, _, err := s.askNames(nameRequest{What: nameFind, Name: name})
	if err != nil {
		return nil, err
	}
	if a.Address == "" {
		return nil, fmt.Errorf("look up %q: %w", name, ErrNoName)
	}
	return actor.NewPID(a.Address, a.ID), nil
}

// tellOwner sends a request to the rank of an actor and waits for the answer. It returns nil if that rank
// is down.
func (s *System) tellOwner(pid *actor.PID, m nameRequest) error {
	rank, ok := s.RankOf(pid)
	if !ok {
		return nil
	}
	// The caller has waited in askNames before, so it is not an inline actor and may wait.
	_, err := s.askRank(rank, m)
	if err != nil && s.engine.Down(rank) == nil {
		return fmt.Errorf("name %q at rank %d: %w", m.Name, rank, err)
	}
	return nil
}

// askNames sends a request to the keeper of a name. It returns the answer and the rank of the keeper. If
// the keeper is lost before it answers, askNames asks the next keeper.
func (s *System) askNames(m nameRequest) (nameAnswer, int, error) {
	if _, serving := s.running(); serving {
		return nameAnswer{}, 0, fmt.Errorf("name %q: %w", m.Name, runtime.ErrInline)
	}
	for {
		rank := keeper(m.Name, s.Size(), func(rank int) bool { return s.engine.Down(rank) != nil })
		a, err := s.askRank(rank, m)
		if err == nil {
			return a, rank, nil
		}
		if s.engine.Down(rank) == nil {
			return nameAnswer{}, rank, fmt.Errorf("name %q at rank %d: %w", m.Name, rank, err)
		}
	}
}

// askRank sends a request to the names actor of a rank. It waits for the answer for at most
// namesTime. If the rank is lost, the wait ends.
func (s *System) askRank(rank int, m nameRequest) (nameAnswer, error) {
	v, err := s.Root.RequestFuture(s.PID(rank, namesID), m, namesTime).Result()
	if err != nil {
		return nameAnswer{}, err
	}
	a, ok := v.(nameAnswer)
	if !ok {
		return nameAnswer{}, fmt.Errorf("%w: %T", ErrAnswer, v)
	}
	if _, known := s.RankOf(actor.NewPID(a.Address, a.ID)); a.Name != m.Name || a.Address != "" && !known {
		return nameAnswer{}, fmt.Errorf("%w: name %q of %s/%s", ErrAnswer, a.Name, a.Address, a.ID)
	}
	return a, nil
}

// tellKeepers reports the loss of a rank to the names actor and the Store actor of this rank.
func (s *System) tellKeepers(rank int) {
	for _, id := range []string{namesID, storeID} {
		if _, ok := s.ProcessRegistry.GetLocal(id); ok {
			s.Root.Send(s.PID(s.Rank(), id), &rankLost{rank})
		}
	}
}

// spawnNames spawns the names actor of this rank.
func (s *System) spawnNames() error {
	_, err := s.Spawn(actor.PropsFromProducer(func() actor.Actor {
		table := func() nameTable {
			return nameTable{pids: make(map[string]*actor.PID), by: make(map[string][]string)}
		}
		return &names{s: s, kept: table(), own: table(), down: make(map[int]bool), late: make(map[string]bool)}
	}), namesID)
	return err
}
