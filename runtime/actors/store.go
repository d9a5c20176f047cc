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

// ErrOldSnapshot refuses a snapshot because another rank has a newer one: another actor has the key.
var ErrOldSnapshot = errors.New("there is a newer snapshot")

// storeID is the id of the actor of each rank that keeps snapshots of others.
const storeID = "$store"

// storeTime is how long a Store waits for an answer of a rank that is not lost.
const storeTime = 30 * time.Second

// Store keeps the snapshots of persistent actors in the memory of two ranks: that of the actor, and
// another one, on another machine if there is one. It lives as long as its process, beyond the Worlds
// of World.Resume, and keeps the newest snapshot of each key until then. Any goroutine may call its methods.
type Store struct {
	// mu guards the fields.
	mu sync.Mutex
	// system is that of the present World.
	system *System
	// held are the newest snapshots that this rank has, by key: of its own actors and of others.
	held map[string]snapshot
	// own are the keys of this rank's actors, by their PIDs.
	own map[string]string
}

// snapshot is a state of an actor. Each has a higher version than the one before.
type snapshot struct {
	Version uint64
	State   []byte
}

// Messages of the actors of Stores.
type (
	// putSnapshot gives a copy to the other rank. getSnapshot asks for that of a key.
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

// Open makes the Store that of a rank in a World. Every rank opens its Store in every World before
// it spawns persistent actors: they ask all ranks for their snapshots, and wait for the answers. The
// error is actor.ErrNameExists if a Store is open.
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

// receive is the actor that keeps snapshots of others.
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

// keep keeps a snapshot unless there is a newer one, and reports whether it did.
func (st *Store) keep(key string, one snapshot) bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.held[key].Version > one.Version {
		return false
	}
	st.held[key] = one
	return true
}

// copyAgain sends the snapshots of this rank's actors to the ranks that are to have copies now.
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

// companion returns the rank that has copies for this one: the next one that is not lost on another
// machine, or else on this. It returns false if there is none.
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

// copyOut gives a copy of a snapshot to the companion.
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

// alone is the error of a rank without others, all of which are lost: where they are started again,
// this World is over, and what is needed of them is in the next one.
func (s *System) alone() error {
	for rank := range s.Size() {
		if down := s.engine.Down(rank); down != nil && s.world.Respawns() {
			return fmt.Errorf("the World has ended: %w", down)
		}
	}
	return nil
}

// find returns the newest snapshot of a key that any rank has.
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

// ask sends a request to the Store of a rank.
func ask[T any](s *System, rank int, m any) (T, error) {
	return answerOf[T](s, rank, s.Root.RequestFuture(s.PID(rank, storeID), m, storeTime))
}

// answerOf waits for the answer of a Store.
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
