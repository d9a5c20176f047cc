package actors

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/gorun-hpc/gorun/runtime"
)

// ErrOldSnapshot is the error of Store.Save if another actor has claimed the key since this actor
// started. Either two actors were spawned with the same key, or the other actor replaces this actor
// because some ranks regard this rank as lost.
var ErrOldSnapshot = errors.New("another actor has claimed the key")

// storeID is the id of the actor of each rank that stores copies of the snapshots of other ranks.
const storeID = "$store"

// storeTime is the timeout of a request of a Store to a rank. The loss of the rank ends the request earlier.
const storeTime = 30 * time.Second

// Store keeps the snapshots of persistent actors in the memory of two ranks: the actor's rank and the
// companion of that rank. The companion is on another host if any living rank is. A Store
// outlives the Worlds of World.Resume. It keeps the newest snapshot of each key until the process
// ends. If a rank is lost, snapshots that have only one copy left are copied again, at once or, if the lost rank is
// started again, after Open in the next World. Any goroutine may call the methods of a Store.
type Store struct {
	// mu guards the fields.
	mu sync.Mutex
	// system is the System of the present World, nil before Open.
	system *System
	// held holds, by key, the snapshots of this rank's own actors and the copies that this rank keeps
	// for other ranks.
	held map[string]holding
	// The field own holds the claims of this rank's persistent actors. Its key is the *actor.PID that the
	// method Self of the actor's context returns.
	own map[*actor.PID]claim
}

// claim is the right to save snapshots of a key. An actor gets this right when it starts: it claims
// its key at all ranks. The number of the claim is higher than the numbers of all earlier claims, and
// no other rank uses the same number. After the claim, these ranks refuse the snapshots of earlier claims. If an
// actor is replaced because some ranks cannot reach it, the old actor can no longer save, unless its companion is
// among the ranks that the new actor cannot reach. So an old actor that saves before it answers does not answer
// requests whose effects are missing in the new actor's state. The numbers are the ballots of Paxos (Lamport, The
// Part-Time Parliament, 1998).
type claim struct {
	Key    string
	Number uint64
}

// snapshot is an encoded state of an actor. The field Save is the number of the snapshot, counted
// from 1 within its claim. A snapshot that the claiming actor has taken over from an earlier claim
// has Save 0. The zero snapshot stands for no snapshot.
type snapshot struct {
	Claim, Save uint64
	State       []byte
}

// compare orders snapshots by age: the result is negative if a is older than b.
func (a snapshot) compare(b snapshot) int {
	return cmp.Or(cmp.Compare(a.Claim, b.Claim), cmp.Compare(a.Save, b.Save))
}

// holding is the state of a key at a rank: the newest snapshot, and the highest number of a claim of
// the key.
type holding struct {
	Newest  snapshot
	Claimed uint64
}

// Messages to the Store actors of other ranks.
type (
	// putSnapshot passes a copy of a snapshot to the companion; copyAgain also sends it to other ranks. The answer is
	// the result of Store.keep, a bool. copyAgain gets no answer.
	putSnapshot struct {
		Key  string
		Copy snapshot
	}
	// claimKey makes a claim; the answer is the result of Store.claimed, a holding.
	claimKey struct{ By claim }
)

func init() {
	RegisterType[putSnapshot]()
	RegisterType[claimKey]()
	RegisterType[holding]()
}

// NewStore returns an empty Store.
func NewStore() *Store {
	return &Store{held: make(map[string]holding), own: make(map[*actor.PID]claim)}
}

// Open makes st the Store of a rank in the World of s. Every rank must open its Store in every World
// before it spawns persistent actors. The reason is that a persistent actor that starts asks
// all ranks for its snapshot and waits for the answers. These requests, and the snapshots that are copied
// again, wait at most Config.Patience for a rank to open its Store. If the rank has already opened a Store in
// this World, the error is actor.ErrNameExists.
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
		if c.Sender() == nil {
			st.keepAgain(m.Key, m.Copy)
			return
		}
		c.Respond(st.keep(m.Key, m.Copy))
	case claimKey:
		c.Respond(st.claimed(m.By))
	case *actor.Started:
		st.copyAgain(s, true)
	case *rankLost:
		st.copyAgain(s, false)
	case *actor.Stopping, *actor.Stopped, *actor.Restarting:
	default:
		s.deadLetter(c.Self(), &actor.MessageEnvelope{Message: c.Message(), Sender: c.Sender()}, ErrMessage)
	}
}

// keep stores a snapshot at this rank and returns true. If this rank has a newer snapshot or a newer
// claim of the key, keep stores nothing and returns false.
func (st *Store) keep(key string, one snapshot) bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	h := st.held[key]
	if one.Claim < h.Claimed || one.compare(h.Newest) < 0 {
		return false
	}
	st.held[key] = holding{one, one.Claim}
	return true
}

// keepAgain stores a snapshot that another rank has sent by copyAgain, unless this rank has a newer snapshot. The
// snapshot may be of an earlier claim: the actor of the later claim may be lost before it has saved anything.
func (st *Store) keepAgain(key string, one snapshot) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if h := st.held[key]; one.compare(h.Newest) > 0 {
		st.held[key] = holding{one, max(one.Claim, h.Claimed)}
	}
}

// claimed makes a claim at this rank. If this rank has a newer claim of the key, that claim remains.
// claimed returns the state of the key at this rank. The claim was made if the field Claimed of the
// result equals the number of the claim.
func (st *Store) claimed(by claim) holding {
	st.mu.Lock()
	defer st.mu.Unlock()
	h := st.held[by.Key]
	h.Claimed = max(h.Claimed, by.Number)
	st.held[by.Key] = h
	return h
}

// copyAgain is called after the loss of a rank and at the beginning of a World (opened is true). The lost rank may
// have had one of the two copies of a snapshot; in the new World, it may have been started again without the copy.
// copyAgain sends to the present companion the snapshots that were claimed at this rank or at a lost rank, also those
// of actors that have ended. At the beginning of a World, it sends all other snapshots to the rank where they were
// claimed. The receiver ignores a snapshot that is not newer than its own.
func (st *Store) copyAgain(s *System, opened bool) {
	st.mu.Lock()
	held := maps.Clone(st.held)
	st.mu.Unlock()
	for key, h := range held {
		if h.Newest.Claim == 0 {
			continue
		}
		to, ok := s.claimant(h.Newest.Claim), opened
		if to == s.Rank() || s.engine.Down(to) != nil {
			to, ok = s.companion()
		}
		if ok {
			s.Root.Send(s.PID(to, storeID), putSnapshot{key, h.Newest})
		}
	}
}

// companion returns the rank that stores copies for this rank: the next rank that is not lost and is
// on another host. If there is no such rank, companion returns the next rank that is not lost. ok is
// false if all other ranks are lost.
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

// copyOut sends a copy of a snapshot to the companion and waits until the companion has stored it. If
// the companion is lost during the wait, copyOut sends the copy to the next companion.
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
			return fmt.Errorf("snapshot %d of key %q: %w at rank %d", one.Save, key, ErrOldSnapshot, to)
		case s.engine.Down(to) == nil:
			return err
		}
	}
}

// alone returns an error if a rank is lost and lost ranks are started again. In this case this World
// has ended, and snapshots must be saved and looked up in the next World. Otherwise it returns nil,
// because this rank may continue alone if all other ranks are lost.
func (s *System) alone() error {
	for rank := range s.Size() {
		if down := s.engine.Down(rank); down != nil && s.world.Respawns() {
			return fmt.Errorf("the World has ended: %w", down)
		}
	}
	return nil
}

// claim claims a key, for an actor of this rank, at all ranks that are not lost. It returns the claim
// and the newest snapshot that any of these ranks has.
func (st *Store) claim(s *System, key string) (claim, snapshot, error) {
	highest := st.claimed(claim{Key: key}).Claimed
	for {
		by := claim{key, s.nextClaim(highest)}
		if by.Number <= highest { // a rank has answered with a number that no claim has
			return claim{}, snapshot{}, fmt.Errorf("claim key %q: %w: claim %d", key, ErrAnswer, highest)
		}
		all, err := st.claimEverywhere(s, by)
		if err != nil {
			return claim{}, snapshot{}, err
		}
		var newest snapshot
		for _, h := range all {
			highest = max(highest, h.Claimed)
			if h.Newest.compare(newest) > 0 {
				newest = h.Newest
			}
		}
		if highest == by.Number {
			return by, newest, s.alone()
		}
	}
}

// nextClaim returns a number for a claim. The number is higher than the argument known, and no other rank
// uses it. If there is no such number, because known is near the largest uint64, the result is not above known.
func (s *System) nextClaim(known uint64) uint64 {
	size := uint64(s.Size())
	return (known/size+1)*size + uint64(s.Rank())
}

// claimant returns the rank that has used a number for a claim.
func (s *System) claimant(number uint64) int { return int(number % uint64(s.Size())) }

// claimEverywhere makes a claim at all ranks that are not lost, and returns the state of the key at
// these ranks.
func (st *Store) claimEverywhere(s *System, by claim) ([]holding, error) {
	type question struct {
		rank   int
		future *actor.Future
	}
	var asked []question
	for rank := range s.Size() {
		if rank != s.Rank() && s.engine.Down(rank) == nil {
			asked = append(asked, question{rank, s.Root.RequestFuture(s.PID(rank, storeID), claimKey{by}, storeTime)})
		}
	}
	all := []holding{st.claimed(by)}
	for _, q := range asked {
		h, err := answerOf[holding](s, q.rank, q.future)
		switch {
		case err == nil:
			all = append(all, h)
		case s.engine.Down(q.rank) == nil:
			return nil, err
		}
	}
	return all, nil
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
