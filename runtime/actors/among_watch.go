package actors

import "github.com/asynkron/protoactor-go/actor"

// relay is a Process that watches the actor of a roaming in place of a watcher. The watcher knows only the PID of the
// roaming, and its rank has recorded the watch under this PID. Therefore the relay passes the actor's Terminated on
// with this PID.
type relay struct {
	r            *roaming
	watcher, who *actor.PID // the field who is the PID of the roaming
	pid, to      *actor.PID // the PIDs of the relay and of the watched actor
}

var _ actor.Process = (*relay)(nil)

// watch begins a watch of the actor at its present rank, in place of any earlier watch of the watcher.
func (r *roaming) watch(watcher, who *actor.PID) {
	r.unwatch(watcher)
	l := &relay{r: r, watcher: watcher, who: who, to: r.where()}
	l.pid, _ = r.s.ProcessRegistry.Add(l, "watch"+r.s.ProcessRegistry.NextId())
	r.mu.Lock()
	r.relays[name(watcher)] = l
	r.mu.Unlock()
	r.s.tellSystem(l.to, &actor.Watch{Watcher: l.pid})
}

// unwatch ends the watch of a watcher.
func (r *roaming) unwatch(watcher *actor.PID) {
	r.mu.Lock()
	l := r.relays[name(watcher)]
	r.mu.Unlock()
	if l != nil && l.end() {
		r.s.tellSystem(l.to, &actor.Unwatch{Watcher: l.pid})
	}
}

// end removes the relay. It returns false if an earlier call has done so.
func (l *relay) end() bool {
	key := name(l.watcher)
	l.r.mu.Lock()
	defer l.r.mu.Unlock()
	if l.r.relays[key] != l {
		return false
	}
	delete(l.r.relays, key)
	l.r.s.ProcessRegistry.Remove(l.pid)
	return true
}

// SendSystemMessage implements actor.Process.
func (l *relay) SendSystemMessage(_ *actor.PID, message any) {
	if m, ok := message.(*actor.Terminated); ok && l.end() {
		l.r.s.tellSystem(l.watcher, &actor.Terminated{Who: l.who, Why: m.Why})
	}
}

// SendUserMessage implements actor.Process. Nobody but the watched actor knows the PID.
func (l *relay) SendUserMessage(*actor.PID, any) {}

// Stop implements actor.Process.
func (l *relay) Stop(*actor.PID) {}
