package actors

import (
	"errors"
	"fmt"
	"hash/fnv"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// ErrNameTaken refuses a name that a live actor has.
var ErrNameTaken = errors.New("name is taken")

// ErrNamesLost says that the rank that kept a name is down, and with it what it knew:
// the name is of no use any more, at any rank.
var ErrNamesLost = errors.New("the rank that kept the name is down")

// ErrNoName says that a name is not registered.
var ErrNoName = errors.New("no such name")

// namesID is the id of the actor that has a rank's part of the names.
const namesID = "$names"

// namesTime is how long Register, Unregister and Lookup wait for an answer.
const namesTime = 10 * time.Second

// What is done with a name.
const (
	nameAdd = iota
	nameRemove
	nameFind
)

// nameRequest asks the rank that has a name.
type nameRequest struct {
	What        int
	Name        string
	Address, ID string
}

// nameAnswer is the answer: who has the name now, nobody if Address is empty, and
// whether the request was refused.
type nameAnswer struct {
	Address, ID string
	Refused     bool
}

func init() {
	Register[nameRequest]()
	Register[nameAnswer]()
}

// names is the actor that has the names whose hash leads to its rank. A name ends
// with its actor.
type names struct {
	pids map[string]*actor.PID
	by   map[string][]string // names by PID
}

// Receive implements actor.Actor.
func (n *names) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case nameRequest:
		c.Respond(n.answer(c, m))
	case *actor.Terminated:
		for _, gone := range n.by[name(m.Who)] {
			delete(n.pids, gone)
		}
		delete(n.by, name(m.Who))
	}
}

// answer does what is asked.
func (n *names) answer(c actor.Context, m nameRequest) nameAnswer {
	held := n.pids[m.Name]
	refused := false
	switch m.What {
	case nameAdd:
		pid := actor.NewPID(m.Address, m.ID)
		if refused = held != nil && !held.Equal(pid); refused || held != nil {
			break
		}
		if len(n.by[name(pid)]) == 0 {
			c.Watch(pid)
		}
		n.by[name(pid)] = append(n.by[name(pid)], m.Name)
		n.pids[m.Name], held = pid, pid
	case nameRemove:
		if held == nil {
			break
		}
		mine := n.by[name(held)]
		for i := range mine {
			if mine[i] == m.Name {
				n.by[name(held)] = append(mine[:i], mine[i+1:]...)
				break
			}
		}
		if len(n.by[name(held)]) == 0 {
			delete(n.by, name(held))
			c.Unwatch(held)
		}
		delete(n.pids, m.Name)
	}
	if held == nil {
		return nameAnswer{}
	}
	return nameAnswer{held.Address, held.Id, refused}
}

// Register gives an actor of any rank a name that every rank can look up. It ends
// with the actor, or with the rank that keeps it, which is chosen by a hash of the
// name. It waits for an answer, so an inline actor cannot call it. The error is
// ErrNameTaken, ErrNamesLost or that of the request.
func (s *System) Register(name string, pid *actor.PID) error {
	a, err := s.askNames(nameRequest{nameAdd, name, pid.Address, pid.Id})
	if err == nil && a.Refused {
		err = fmt.Errorf("register %q: %w by %s/%s", name, ErrNameTaken, a.Address, a.ID)
	}
	return err
}

// Unregister ends a name. It is no error if there is none.
func (s *System) Unregister(name string) error {
	_, err := s.askNames(nameRequest{What: nameRemove, Name: name})
	return err
}

// Lookup returns who has a name. The error is ErrNoName or that of the request.
func (s *System) Lookup(name string) (*actor.PID, error) {
	a, err := s.askNames(nameRequest{What: nameFind, Name: name})
	if err != nil {
		return nil, err
	}
	if a.Address == "" {
		return nil, fmt.Errorf("look up %q: %w", name, ErrNoName)
	}
	return actor.NewPID(a.Address, a.ID), nil
}

// askNames asks the rank that has a name.
func (s *System) askNames(m nameRequest) (nameAnswer, error) {
	h := fnv.New32a()
	_, _ = h.Write([]byte(m.Name)) // a hash takes everything
	rank := int(h.Sum32() % uint32(s.Size()))
	v, err := s.Root.RequestFuture(s.PID(rank, namesID), m, namesTime).Result()
	if err != nil {
		if cause := s.engine.Down(rank); cause != nil {
			err = fmt.Errorf("%w: %w", ErrNamesLost, cause)
		}
		return nameAnswer{}, fmt.Errorf("name %q at rank %d: %w", m.Name, rank, err)
	}
	return v.(nameAnswer), nil
}

// spawnNames starts this rank's part.
func (s *System) spawnNames() error {
	_, err := s.Spawn(actor.PropsFromProducer(func() actor.Actor {
		return &names{pids: make(map[string]*actor.PID), by: make(map[string][]string)}
	}), namesID)
	return err
}
