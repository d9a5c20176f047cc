package actors

import (
	"errors"
	"fmt"

	"github.com/asynkron/protoactor-go/actor"
)

// ErrNotPersistent is the error if a snapshot concerns an actor that was not spawned with Store.Persist or
// does not implement Persistent.
var ErrNotPersistent = errors.New("the actor is not persistent")

// ErrStoreNotOpen is the error if a persistent actor starts before Store.Open was called at its rank.
var ErrStoreNotOpen = errors.New("the Store of the rank is not open")

// Persistent is an actor whose state outlives the actor and its rank. It is spawned with the option
// Store.Persist, and calls Store.Save whenever the Store must keep its state.
type Persistent interface {
	actor.Actor
	// Snapshot returns the encoded state. The Store takes ownership of the slice.
	Snapshot() ([]byte, error)
	// Recover sets the state from a snapshot. If there is a snapshot, Recover is called before
	// the actor gets actor.Started. After an error or a panic of Recover the actor fails, and its
	// supervisor decides how to continue.
	Recover(snapshot []byte) error
}

// Persist makes an actor persistent. The actor must implement Persistent and must not be inline. key
// identifies its snapshots; no two actors of the job may have the same key at the same time. An actor
// that its supervisor has restarted continues from the newest snapshot of the key. An actor that is
// spawned with the key of an earlier actor does the same. The earlier actor may have lived at another
// rank or in an earlier World.
//
// The Store has no files. If the rank of the actor and the rank that keeps the copy are lost
// together, the snapshots are lost, and the actor starts without a snapshot.
func (st *Store) Persist(key string) actor.PropsOption {
	return actor.WithReceiverMiddleware(func(next actor.ReceiverFunc) actor.ReceiverFunc {
		return func(c actor.ReceiverContext, m *actor.MessageEnvelope) {
			switch m.Message.(type) {
			case *actor.Started:
				if err := st.recover(c, key); err != nil {
					panic(err) // the supervisor decides how to continue
				}
			case *actor.Stopped:
				defer st.disown(c.Self()) // the actor may save for the last time
			}
			next(c, m)
		}
	})
}

// disown ends the claim of an actor that has stopped.
func (st *Store) disown(pid *actor.PID) {
	st.mu.Lock()
	defer st.mu.Unlock()
	delete(st.own, pid)
}

// recover claims the key for an actor that is starting, and passes the newest snapshot to it. Before
// that, recover makes sure that this rank has the snapshot and, if any other rank lives, that the companion
// of this rank has it, too. The companion is the rank that stores copies for this rank.
func (st *Store) recover(c actor.ReceiverContext, key string) error {
	st.mu.Lock()
	s := st.system
	st.mu.Unlock()
	p, ok := c.Actor().(Persistent)
	if !ok {
		return fmt.Errorf("recover actor %s: %w: it is %T", name(c.Self()), ErrNotPersistent, c.Actor())
	}
	if s == nil {
		return fmt.Errorf("recover actor %s: %w", name(c.Self()), ErrStoreNotOpen)
	}
	by, one, err := st.claim(s, key)
	if err == nil && one.Claim > 0 {
		one.Claim, one.Save = by.Number, 0
		err = st.copies(s, key, one)
		if err == nil {
			err = p.Recover(one.State)
		}
	}
	if err != nil {
		return fmt.Errorf("recover actor %s: %w", name(c.Self()), err)
	}
	st.mu.Lock()
	st.own[c.Self()] = by
	st.mu.Unlock()
	return nil
}

// copies stores a snapshot at this rank and at the companion.
func (st *Store) copies(s *System, key string, one snapshot) error {
	if !st.keep(key, one) {
		return fmt.Errorf("snapshot %d of key %q: %w at this rank", one.Save, key, ErrOldSnapshot)
	}
	return st.copyOut(s, key, one)
}

// Save stores a snapshot of the present state of an actor. The actor calls Save in its handler. When
// Save returns nil, two ranks have the snapshot; if no other rank lives, only this rank has it.
// So an actor that saves before it answers does not lose an answered request. After an error it is
// unknown whether the snapshot is stored. The actor must then undo the change or stop, so that it does
// not answer a later request with a state that may be lost. ErrOldSnapshot means that another actor has
// taken the place of this actor.
func (st *Store) Save(c actor.Context) error {
	st.mu.Lock()
	s := st.system
	by, claimed := st.own[c.Self()]
	last := st.held[by.Key].Newest
	st.mu.Unlock()
	p, ok := c.Actor().(Persistent)
	if !ok || !claimed {
		return fmt.Errorf("save actor %s: %w", name(c.Self()), ErrNotPersistent)
	}
	state, err := p.Snapshot()
	if err == nil {
		err = st.copies(s, by.Key, snapshot{by.Number, last.Save + 1, state})
	}
	if err != nil {
		return fmt.Errorf("save actor %s: %w", name(c.Self()), err)
	}
	return nil
}
