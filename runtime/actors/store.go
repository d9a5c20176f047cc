package actors

import (
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/gorun-hpc/gorun/runtime"
)

// ErrOldSnapshot is the error of Store.Save if a rank has a newer snapshot, which means that another actor
// has the same key.
var ErrOldSnapshot = errors.New("there is a newer snapshot")

// storeID is the id of the actor of each rank that stores copies of the snapshots of other ranks.
const storeID = "$store"

// storeTime is the timeout of a request of a Store to a rank. The loss of the rank ends the request earlier.
const storeTime = 30 * time.Second

// Store keeps the snapshots of persistent actors in the memory of two ranks: the actor's rank and its
// companion, which is on another machine if there is one. A Store outlives the Worlds of World.Resume. It
// keeps the newest snapshot of each key until its process ends. Any goroutine may call its methods.
type Store struct {
	// mu guards the fields.
	mu sync.Mutex
	// system is the System of the present World, nil before Open.
	system *System
	// held holds, by key, the newest snapshots that this rank has: snapshots of its own actors and
	// copies for other ranks.
	held map[string]snapshot
	// own holds the keys of this rank's persistent actors, by the actors' PIDs as words.
	own map[string]string
}

// snapshot is an encoded state of an actor. Each snapshot of an actor has a higher version than the
// previous one; version 0 means that there is no snapshot.
type snapshot struct {
	Version uint64
	State   []byte
}

// Messages of the actors of Stores.
type (
	// putSnapshot passes a copy of a snapshot to the companion; the answer is a bool, see Store.keep.
	// getSnapshot asks for the snapshot of a key; the answer is a snapshot.
	putSnapshot struct {
		Key  string
		Copy snapshot
	}
	getSnapshot struct{ Key string }
)

func init() {
	RegisterType[putSnapshot]()
	RegisterType[getSnapshot]()
	RegisterType[snapshot]()
}

// NewStore returns an empty Store.
func NewStore() *Store { return &Store{held: make(map[string]snapshot), own: make(map[string]string)} }

// Open makes st the Store of a rank in the World of s. Every rank must open its Store in every World, before
// it spawns persistent actors: a persistent actor that starts asks all ranks for its snapshot, and waits
// for the answers. The error is actor.ErrNameExists if the rank has opened a Store in this World before.
func (st *Store) Open(s *System) error {
	_, err := s.Spawn(actor.PropsFromFunc(func(c actor.Context) { st.receive(s, c) }), storeID)
	if err == nil {
		st.mu.Lock()
		st.system = s
		clear(st.own)
		st.mu.Unlock()
	}
	return err
}

// receive is the function of the actor that stores copies of the snapshots of other ranks.
func (st *Store) receive(s *System, c actor.Context) {
	switch m := c.Message().(type) {
	case putSnapshot:
		kept := st.keep(m.Key, m.Copy)
		if c.Sender() != nil {
			c.Respond(kept)
		}
	case getSnapshot:
		st.mu.Lock()
		held := st.held[m.Key]
		st.mu.Unlock()
		c.Respond(held)
	case *rankLost:
		st.copyAgain(s)
	case *actor.Started, *actor.Stopping, *actor.Stopped, *actor.Restarting:
	default:
		s.deadLetter(c.Self(), &actor.MessageEnvelope{Message: c.Message(), Sender: c.Sender()}, ErrMessage)
	}
}

// keep stores a snapshot at this rank unless there is a newer one, and reports whether it has done so.
func (st *Store) keep(key string, one snapshot) bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.held[key].Version > one.Version {
		return false
	}
	st.held[key] = one
	return true
}

// copyAgain sends the snapshots of this rank's actors to the companion, because a rank was lost, which may
// have been the former companion.
func (st *Store) copyAgain(s *System) {
	st.mu.Lock()
	own := maps.Clone(st.own)
	st.mu.Unlock()
	to, ok := s.companion()
	if !ok {
		return
	}
	for _, key := range own {
		st.mu.Lock()
		one := st.held[key]
		st.mu.Unlock()
		if one.Version > 0 {
			s.Root.Send(s.PID(to, storeID), putSnapshot{key, one})
		}
	}
}

// companion returns the rank that stores copies for this rank: the next rank that is not lost and is on
// another machine or, if there is none, the next rank that is not lost. ok is false if all others are lost.
func (s *System) companion() (rank int, ok bool) {
	here := s.world.Host(s.Rank())
	for i := 1; i < s.Size(); i++ {
		next := (s.Rank() + i) % s.Size()
		switch {
		case s.engine.Down(next) != nil:
		case s.world.Host(next) != here:
			return next, true
		case !ok:
			rank, ok = next, true
		}
	}
	return rank, ok
}

// copyOut sends a copy of a snapshot to the companion and waits until the companion has stored it. If the
// companion is lost meanwhile, it goes on with the next one.
func (st *Store) copyOut(s *System, key string, one snapshot) error {
	for {
		to, ok := s.companion()
		if !ok {
			return s.alone()
		}
		kept, err := ask[bool](s, to, putSnapshot{key, one})
		switch {
		case err == nil && kept:
			return nil
		case err == nil:
			return fmt.Errorf("snapshot %q of version %d: %w at rank %d", key, one.Version, ErrOldSnapshot, to)
		case s.engine.Down(to) == nil:
			return err
		}
	}
}

// alone returns an error if a rank is lost and lost ranks are started again: then this World has ended, and
// snapshots are to be saved and looked up in the next World. Otherwise it returns nil: if all other ranks
// are lost, this rank continues alone.
func (s *System) alone() error {
	for rank := range s.Size() {
		if down := s.engine.Down(rank); down != nil && s.world.Respawns() {
			return fmt.Errorf("the World has ended: %w", down)
		}
	}
	return nil
}

// find returns the newest snapshot of a key that any rank has, and waits for the answers of all ranks that
// are not lost.
func (st *Store) find(s *System, key string) (snapshot, error) {
	st.mu.Lock()
	newest := st.held[key]
	st.mu.Unlock()
	type question struct {
		rank   int
		future *actor.Future
	}
	var asked []question
	for rank := range s.Size() {
		if rank != s.Rank() && s.engine.Down(rank) == nil {
			asked = append(asked, question{rank, s.Root.RequestFuture(s.PID(rank, storeID), getSnapshot{key}, storeTime)})
		}
	}
	for _, q := range asked {
		one, err := answerOf[snapshot](s, q.rank, q.future)
		switch {
		case err == nil && one.Version > newest.Version:
			newest = one
		case err != nil && s.engine.Down(q.rank) == nil:
			return snapshot{}, err
		}
	}
	return newest, s.alone()
}

// ask sends a request to the Store of a rank and waits for the answer.
func ask[T any](s *System, rank int, m any) (T, error) {
	return answerOf[T](s, rank, s.Root.RequestFuture(s.PID(rank, storeID), m, storeTime))
}

// answerOf waits for the answer of a Store. In an inline actor, which must not wait, it fails with
// runtime.ErrInline.
func answerOf[T any](s *System, rank int, f *actor.Future) (answer T, err error) {
	if _, serving := s.running(); serving {
		return answer, fmt.Errorf("snapshots at rank %d: %w", rank, runtime.ErrInline)
	}
	v, err := f.Result()
	if err != nil {
		return answer, fmt.Errorf("snapshots at rank %d: %w", rank, err)
	}
	answer, ok := v.(T)
	if !ok {
		err = fmt.Errorf("snapshots at rank %d: %w: %T", rank, ErrAnswer, v)
	}
	return answer, err
}
