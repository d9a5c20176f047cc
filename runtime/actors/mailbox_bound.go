package actors

import (
	"sync"
	"sync/atomic"
)

// A mailbox bounds the bytes of the messages of its own rank. The number of these bytes is the
// difference between two fields, posted - taken. The senders add to posted; the goroutine that runs the
// actor adds to taken. Each counter should stay in the cache of its writer. Therefore a sender reads
// taken only when posted reaches the field limit. The goroutine that runs the actor compares taken with
// the field fullAt only when a sender waits for space.

// overflow contains the messages and goroutines that wait for space in a mailbox.
type overflow struct {
	// messages in outboxes of this rank's actors, and messages that the serving goroutine has sent while it ran
	// no actor; they come after the messages in mailbox.user
	waiting []waiting
	room    sync.Cond // goroutines that run no actor wait here for space
}

// admits reports whether there is space for a message. A mailbox without messages of this rank admits any
// message. mu is held.
func (m *mailbox) admits(cost uint32) bool {
	after := m.posted + uint64(cost)
	if after <= m.limit {
		return true
	}
	taken := atomic.LoadUint64(&m.taken)
	m.limit = taken + uint64(m.s.cfg.Mailbox)
	return after <= m.limit || taken == m.posted
}

// hasSpace reports whether there is space for waiting senders. It returns true if the actor has
// stopped. It also returns true if, of the bytes that were in the mailbox when a sender last began to
// wait, at most Config.Mailbox/2 are still there. The caller runs the mailbox or holds mu.
func (m *mailbox) hasSpace() bool {
	return atomic.LoadUint64(&m.taken)+uint64(m.s.cfg.Mailbox)/2 >= m.fullAt.Load() || m.dead.Load()
}

// markFull records that a sender begins to wait for space, and returns the overflow. mu is held.
func (m *mailbox) markFull() *overflow {
	if m.overflow == nil {
		m.overflow = &overflow{}
		m.overflow.room.L = &m.mu
	}
	m.fullAt.Store(m.posted)
	return m.overflow
}

// postFull posts a message to a mailbox without space. A message of an actor waits in the actor's outbox, and
// becomes a dead letter if the outbox has no space. If the serving goroutine sends a message while it runs no
// actor, the message waits without a bound, because this goroutine must not block. Any other goroutine blocks.
// If the actor of the mailbox has stopped, or the engine has ended, postFull does not block. The caller holds
// mu; postFull releases it.
func (m *mailbox) postFull(i item) {
	if m.dead.Load() {
		m.put(i)
		m.arouse()
		return
	}
	who, serving := m.s.running()
	if who == nil && !serving {
		for !m.admits(i.cost) && !m.dead.Load() {
			if ended := m.s.ended.Load(); ended != nil {
				m.mu.Unlock()
				m.refuse(i.message, *ended)
				return
			}
			m.markFull().room.Wait()
		}
		m.put(i)
		m.arouse()
		return
	}
	m.mu.Unlock()
	begins, held := m.s.hold(who, m, int64(i.cost))
	if !held {
		m.refuse(i.message, ErrMailboxFull)
		return
	}
	m.mu.Lock()
	q := m.markFull()
	q.waiting = append(q.waiting, waiting{item: i, owner: who})
	emptied := m.hasSpace() // the actor may have taken messages while mu was not held
	m.mu.Unlock()
	if emptied {
		m.refill()
	} else if begins {
		m.s.probe(who, m)
	}
}

// refuse turns a message into a dead letter, because the mailbox does not take the message.
func (m *mailbox) refuse(message any, why error) {
	m.mu.Lock()
	pid := m.pid
	m.mu.Unlock()
	if pid == nil { // the actor is being spawned
		pid = m.s.NewLocalPID("")
	}
	m.s.deadLetter(pid, message, why)
}

// refill moves waiting messages into the mailbox while there is space, and schedules the actor.
func (m *mailbox) refill() {
	m.mu.Lock()
	all := m.refilled()
	m.arouse()
	m.moved(all)
}

// refilled moves waiting messages into the mailbox while there is space. When no message waits any
// more, it wakes the goroutines that wait for space. It returns the moved messages. The caller holds
// mu. After the caller has released mu, it calls the method moved with the moved messages.
func (m *mailbox) refilled() (all []waiting) {
	if m.fullAt.Load() == 0 || !m.hasSpace() {
		return nil
	}
	q := m.overflow
	n := 0
	for ; n < len(q.waiting); n++ {
		w := q.waiting[n]
		if !m.admits(w.cost) && !m.dead.Load() {
			break
		}
		m.put(w.item)
		all = append(all, w)
	}
	q.waiting = append(q.waiting[:0], q.waiting[n:]...)
	if len(q.waiting) > 0 {
		m.fullAt.Store(m.posted)
		return all
	}
	q.waiting = nil
	m.fullAt.Store(0)
	q.room.Broadcast()
	return all
}

// wakeSenders wakes the goroutines that wait for space.
func (m *mailbox) wakeSenders() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.overflow != nil {
		m.overflow.room.Broadcast()
	}
}

// moved removes, from the outboxes of the senders, the messages that refilled has put into the
// mailbox.
func (m *mailbox) moved(all []waiting) {
	for _, w := range all {
		m.s.release(w.owner, m, int64(w.cost))
	}
}
