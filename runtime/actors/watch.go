package actors

import (
	"reflect"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/gorun-hpc/gorun/runtime"
)

// watchKey holds the ids of a watcher and of the actor that it watches.
type watchKey struct{ watcher, who string }

// watch is a watch between actors of different ranks. The field watcher is the actor that watches. The field
// who is the actor that is watched.
type watch struct{ watcher, who *actor.PID }

// watch records that an actor of this rank watches an actor of another rank. It returns false if that rank
// is down, or if the engine has ended.
func (s *System) watch(key remoteKey, watcher, who *actor.PID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down[key.rank] || s.ended.Load() != nil {
		return false
	}
	there := s.watches[key.rank]
	if there == nil {
		there = make(map[string]map[string]watch)
		s.watches[key.rank] = there
	}
	if there[watcher.Id] == nil {
		there[watcher.Id] = make(map[string]watch)
	}
	there[watcher.Id][key.id] = watch{watcher, who}
	return true
}

// unwatch removes a watch of an actor of this rank, and returns the watcher. If the watcher has already got its
// Terminated or has ended the watch, there is no such watch, and unwatch returns nil.
func (s *System) unwatch(rank int, watcher, who string) *actor.PID {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.watches[rank][watcher][who]
	s.dropWatch(rank, watcher, who)
	return w.watcher
}

// dropWatch removes a watch, if there is one. The caller holds s.mu.
func (s *System) dropWatch(rank int, watcher, who string) {
	all := s.watches[rank][watcher]
	if delete(all, who); len(all) == 0 {
		delete(s.watches[rank], watcher)
	}
}

// unwatchOwn removes the watch of an actor of this rank that has ended its watch. It does not remove the watch of a
// later actor with the same name.
func (s *System) unwatchOwn(key remoteKey, watcher *actor.PID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.watches[key.rank][watcher.Id][key.id].watcher == watcher {
		s.dropWatch(key.rank, watcher.Id, key.id)
	}
}

// watcherOf returns the actor of this rank that has the name watcher and watches an actor of another rank, or nil.
func (s *System) watcherOf(key remoteKey, watcher string) *actor.PID {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.watches[key.rank][watcher][key.id].watcher
}

// endWatches ends the watch of one watcher on an actor of another rank, because that rank has no actors. If the
// argument one is nil, it ends all watches on this actor. Each watcher gets a Terminated.
func (s *System) endWatches(key remoteKey, one *actor.PID) {
	var ended []watch
	s.mu.Lock()
	for watcher, all := range s.watches[key.rank] {
		if w, ok := all[key.id]; ok && (one == nil || one.Id == watcher) {
			ended = append(ended, w)
			delete(all, key.id)
		}
		if len(all) == 0 {
			delete(s.watches[key.rank], watcher)
		}
	}
	s.mu.Unlock()
	for _, w := range ended {
		s.tellSystem(w.watcher, &actor.Terminated{Who: w.who, Why: actor.TerminatedReason_NotFound})
	}
}

// unwatchAll ends all watches in which the actor watcher, which has ended, watches actors of other ranks. It
// compares *PIDs, not ids, because a new actor may already have the same name and its own watches.
func (s *System) unwatchAll(watcher *actor.PID) {
	var ended []watch
	s.mu.Lock()
	for _, there := range s.watches {
		all := there[watcher.Id]
		for who, w := range all {
			if w.watcher == watcher {
				ended = append(ended, w)
				delete(all, who)
			}
		}
		if len(all) == 0 {
			delete(there, watcher.Id)
		}
	}
	s.mu.Unlock()
	for _, w := range ended {
		s.tellSystem(w.who, &actor.Unwatch{Watcher: watcher})
	}
}

// watchedBy records that an actor of another rank watches an actor of this rank.
func (s *System) watchedBy(rank int, id string, watcher *actor.PID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.watched[rank] == nil {
		s.watched[rank] = make(map[watchKey]watch)
	}
	s.watched[rank][watchKey{watcher.Id, id}] = watch{watcher, s.NewLocalPID(id)}
}

// unwatchedBy is the inverse of watchedBy.
func (s *System) unwatchedBy(rank int, id string, watcher *actor.PID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.watched[rank], watchKey{watcher.Id, id})
}

// tellEnd sends Terminated to the watchers and the parent of an actor that has panicked while it handled
// actor.Stopped. In this case protoactor does not send them. The goroutine that runs the actor calls tellEnd.
func (m *mailbox) tellEnd() {
	ended := &actor.Terminated{Who: m.pid}
	for _, w := range watchersOf(m.invoker) {
		m.s.tellSystem(w, ended)
	}
	if child, ok := m.invoker.(interface{ Parent() *actor.PID }); ok {
		m.s.tellSystem(child.Parent(), ended)
	}
}

// watchersOf returns the watchers of an actor. It uses reflection, because protoactor's context of the actor
// has no accessor for them. If the context of this release of protoactor has other fields, watchersOf returns
// nil.
func watchersOf(invoker actor.MessageInvoker) (all []*actor.PID) {
	v := reflect.ValueOf(invoker)
	for _, field := range []string{"extras", "watchers", "pids"} {
		if v = reflect.Indirect(v); v.Kind() != reflect.Struct {
			return nil
		}
		v = v.FieldByName(field)
	}
	if !v.IsValid() || v.Type() != reflect.TypeFor[[]*actor.PID]() {
		return nil
	}
	for i := range v.Len() {
		pid := v.Index(i).Elem()
		all = append(all, actor.NewPID(pid.FieldByName("Address").String(), pid.FieldByName("Id").String()))
	}
	return all
}

// lost handles the loss of a rank. For each of the lost rank's actors, every watcher gets one Terminated. The
// watches by actors of the lost rank are removed. Messages that wait for credit of the lost rank become
// dead letters, and open requests to the lost rank end.
func (s *System) lost(rank int, cause error) {
	s.mu.Lock()
	if s.down[rank] {
		s.mu.Unlock()
		return
	}
	s.down[rank] = true
	watches, watched := s.watches[rank], s.watched[rank]
	delete(s.watches, rank)
	delete(s.watched, rank)
	var there []*remoteEntry
	for key, l := range s.remotes {
		if key.rank == rank {
			there = append(there, l)
		}
	}
	s.mu.Unlock()
	s.moveActors() // before the notifications, so that a notified actor finds the moved actors
	s.tellWatchers(watches)
	for _, w := range watched {
		s.tellSystem(w.who, &actor.Unwatch{Watcher: w.watcher})
	}
	for _, l := range there {
		l.drain()
	}
	s.unanswered(&runtime.PeerError{Rank: rank, Op: "request", Cause: cause}, func(one openRequest) bool { return one.rank == rank })
	s.tellKeepers(rank)
}

// endAllWatches ends the watches on actors of all other ranks.
func (s *System) endAllWatches() {
	s.mu.Lock()
	all := s.watches
	s.watches = make(map[int]map[string]map[string]watch)
	s.mu.Unlock()
	for _, watches := range all {
		s.tellWatchers(watches)
	}
}

// tellWatchers sends each watcher a Terminated, because the rank of the watched actors cannot be reached any
// more. The keys of watches are the ids of the watcher and of the watched actor.
func (s *System) tellWatchers(watches map[string]map[string]watch) {
	for _, all := range watches {
		for _, w := range all {
			s.tellSystem(w.watcher, &actor.Terminated{Who: w.who, Why: actor.TerminatedReason_AddressTerminated})
		}
	}
}
