package actors

import (
	"github.com/asynkron/protoactor-go/actor"
)

// watchKey is who watches whom.
type watchKey struct{ watcher, who string }

// watch is one that is in force.
type watch struct{ watcher, who *actor.PID }

// watch remembers that an actor of this rank watches one of another. It returns
// false if that rank is down.
func (s *System) watch(key remoteKey, watcher, who *actor.PID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down[key.rank] != nil {
		return false
	}
	enter(s.watches, key.rank, watch{watcher, who})
	return true
}

// unwatch is the inverse of watch.
func (s *System) unwatch(key remoteKey, watcher *actor.PID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.watches[key.rank], watchKey{watcher.Id, key.id})
}

// terminated ends a watch because its actor did. It returns false if the watcher
// was told before, or does not want to know any more.
func (s *System) terminated(rank int, watcher string, who *actor.PID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := watchKey{watcher, who.Id}
	_, ok := s.watches[rank][key]
	delete(s.watches[rank], key)
	return ok
}

// watchedBy remembers that an actor of another rank watches one of this rank.
func (s *System) watchedBy(rank int, id string, watcher *actor.PID) {
	if watcher == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	enter(s.watched, rank, watch{watcher, s.NewLocalPID(id)})
}

// unwatchedBy is the inverse of watchedBy.
func (s *System) unwatchedBy(rank int, id string, watcher *actor.PID) {
	if watcher == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.watched[rank], watchKey{watcher.Id, id})
}

// enter adds a watch to a table by rank.
func enter(table map[int]map[watchKey]watch, rank int, w watch) {
	if table[rank] == nil {
		table[rank] = make(map[watchKey]watch)
	}
	table[rank][watchKey{w.watcher.Id, w.who.Id}] = w
}

// lost tells every watcher of an actor of a rank that is down, once, and forgets
// its watchers. What waits for credit there are dead letters.
func (s *System) lost(rank int, cause error) {
	s.mu.Lock()
	if s.down[rank] != nil {
		s.mu.Unlock()
		return
	}
	s.down[rank] = cause
	watches, watched := s.watches[rank], s.watched[rank]
	delete(s.watches, rank)
	delete(s.watched, rank)
	var there []*remote
	for key, r := range s.remotes {
		if key.rank == rank {
			there = append(there, r)
		}
	}
	s.mu.Unlock()
	for _, w := range watches {
		s.tellSystem(w.watcher, &actor.Terminated{Who: w.who, Why: actor.TerminatedReason_AddressTerminated})
	}
	for _, w := range watched {
		s.tellSystem(w.who, &actor.Unwatch{Watcher: w.watcher})
	}
	for _, r := range there {
		r.drain()
	}
}
