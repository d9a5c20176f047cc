package actors

import (
	"sync"
	"sync/atomic"

	"github.com/gorun-hpc/gorun/runtime"
)

// The bytes of its own rank in a mailbox are bounded. They are posted, which the senders count,
// minus taken, which the goroutine that runs the actor counts. A sender reads taken only when
// posted reaches the known limit. The goroutine that runs the actor reads posted only when
// fullAt says that a sender waits for space.

// overflow contains the senders and messages that wait for space in a mailbox.
type overflow struct {
	waiting []waiting // messages of this rank's actors; they follow those in user
	room    sync.Cond // of the other goroutines
}

// admits reports whether there is space for a message. An empty mailbox admits any message. mu
// is held.
func (m *mailbox) admits(cost uint32) bool {
	after := m.posted + uint64(cost)
	if after <= m.limit {
		return true
	}
	taken := atomic.LoadUint64(&m.taken)
	m.limit = taken + uint64(m.s.cfg.Mailbox)
	return after <= m.limit || taken == m.posted
}

// hasSpace reports whether the actor has taken half of the bytes that waited when a sender
// began to wait for space. The caller runs the mailbox or holds mu.
func (m *mailbox) hasSpace() bool {
	return atomic.LoadUint64(&m.taken)+uint64(m.s.cfg.Mailbox)/2 >= m.fullAt.Load() || m.dead.Load()
}

// crowd sets fullAt. mu is held.
func (m *mailbox) markFull() *overflow {
	if m.overflow == nil {
		m.overflow = &overflow{}
		m.overflow.room.L = &m.mu
	}
	m.fullAt.Store(m.posted)
	return m.overflow
}

// postFull posts to a mailbox without space: a message of an actor waits in the actor's outbox,
// any other goroutine waits. mu is held, and released.
func (m *mailbox) postFull(i item) {
	if m.dead.Load() {
		m.put(i)
		m.arouse()
		return
	}
	who, serving := m.s.running()
	if who == nil && !serving {
		for !m.admits(i.cost) && !m.dead.Load() {
			if m.s.closed.Load() {
				m.mu.Unlock()
				m.s.deadLetter(m.pid, i.message, runtime.ErrClosed)
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
		m.s.deadLetter(m.pid, i.message, ErrMailboxFull)
		return
	}
	m.mu.Lock()
	q := m.markFull()
	q.waiting = append(q.waiting, waiting{item: i, owner: who})
	emptied := m.hasSpace() // meanwhile
	m.mu.Unlock()
	if emptied {
		m.refill()
	} else if begins {
		m.s.probe(who, m)
	}
}

// refill moves messages that wait for space into the mailbox, and schedules the actor.
func (m *mailbox) refill() {
	m.mu.Lock()
	all := m.refilled()
	m.arouse()
	m.moved(all)
}

// refilled moves messages that wait for space into the mailbox, and returns them for moved. mu
// is held.
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

// moved releases the space of moved messages in the outboxes of their senders.
func (m *mailbox) moved(all []waiting) {
	for _, w := range all {
		m.s.release(w.owner, m, int64(w.cost))
	}
}
