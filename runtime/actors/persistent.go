package actors

import (
	"errors"
	"fmt"

	"github.com/asynkron/protoactor-go/actor"
)

// ErrNotPersistent refuses a snapshot of an actor that was not spawned with Store.Persist, or is no
// Persistent.
var ErrNotPersistent = errors.New("the actor is not persistent")

// Persistent is an actor whose state outlives it, and its rank: it is spawned with the option
// Store.Persist, and calls Store.Save when its state is to be kept.
type Persistent interface {
	actor.Actor
	// Snapshot returns the state. The Store owns the slice.
	Snapshot() ([]byte, error)
	// Recover sets the state to that of a snapshot. It is called before the actor gets
	// actor.Started, unless there is no snapshot. An error or a panic fails the actor, and its
	// supervisor decides.
	Recover(snapshot []byte) error
}

// Persist makes an actor persistent, which is a Persistent. Its snapshots have a key that no other
// actor of the job has at the same time. An actor that is spawned with the key of an earlier one, at
// this rank or another, in this World or one before, or that its supervisor has restarted, goes on
// from the newest snapshot that exists. It does not run inline.
//
// If the rank of the actor and the one that keeps its copy are lost together, the snapshots are gone,
// and the actor begins anew. The Store has no files.
func (st *Store) Persist(key string) actor.PropsOption {
	return actor.WithReceiverMiddleware(func(next actor.ReceiverFunc) actor.ReceiverFunc {
		return func(c actor.ReceiverContext, m *actor.MessageEnvelope) {
			switch m.Message.(type) {
			case *actor.Started:
				if err := st.recover(c, key); err != nil {
					panic(err) // the supervisor decides
				}
			case *actor.Stopped:
				st.mu.Lock()
				delete(st.own, name(c.Self()))
				st.mu.Unlock()
			}
			next(c, m)
		}
	})
}

// recover gives an actor that starts its newest snapshot, of which there are two copies then.
func (st *Store) recover(c actor.ReceiverContext, key string) error {
	st.mu.Lock()
	s := st.system
	st.mu.Unlock()
	p, ok := c.Actor().(Persistent)
	if !ok || s == nil {
		return fmt.Errorf("recover actor %s: %w: it is %T, and the Store of its rank is to be open", name(c.Self()), ErrNotPersistent, c.Actor())
	}
	one, err := st.find(s, key)
	if err == nil && one.Version > 0 {
		err = st.copies(s, key, one)
		if err == nil {
			err = p.Recover(one.State)
		}
	}
	if err != nil {
		return fmt.Errorf("recover actor %s: %w", name(c.Self()), err)
	}
	st.mu.Lock()
	st.own[name(c.Self())] = key
	st.mu.Unlock()
	return nil
}

// copies keeps a snapshot at this rank and the other one.
func (st *Store) copies(s *System, key string, one snapshot) error {
	if !st.keep(key, one) {
		return fmt.Errorf("snapshot %q of version %d: %w at this rank", key, one.Version, ErrOldSnapshot)
	}
	return st.copyOut(s, key, one)
}

// Save keeps the present state of the actor that calls it, in a handler. When it returns nil, two ranks
// have the snapshot, or this one if all others are lost. So an actor that saves before it answers does
// not lose what it has answered. After an error it may be kept or not.
func (st *Store) Save(c actor.Context) error {
	st.mu.Lock()
	s, key := st.system, st.own[name(c.Self())]
	version := st.held[key].Version + 1
	st.mu.Unlock()
	p, ok := c.Actor().(Persistent)
	if !ok || key == "" {
		return fmt.Errorf("save actor %s: %w", name(c.Self()), ErrNotPersistent)
	}
	state, err := p.Snapshot()
	if err == nil {
		err = st.copies(s, key, snapshot{version, state})
	}
	if err != nil {
		return fmt.Errorf("save actor %s: %w", name(c.Self()), err)
	}
	return nil
}
