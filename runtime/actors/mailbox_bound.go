package actors

import (
	"sync"
	"sync/atomic"

	"github.com/gorun-hpc/gorun/runtime"
)

// A mailbox is bounded in bytes of its own rank: posted, which the senders count, less
// taken, which the goroutine that runs the actor counts. Each reads the other's counter only
// when it must: a sender when the limit that it knows allows no more, the goroutine that runs
// the actor when fullAt says that a sender waits for space.

// overflow is the senders and messages that wait for space in a mailbox.
type overflow struct {
	waiting []waiting // of this rank's actors, after user
	room    sync.Cond // others
}

// admits reports whether there is room for a message. An empty mailbox has room for
// any. mu is held.
func (m *mailbox) admits(cost uint32) bool {
	after := m.posted + uint64(cost)
	if after <= m.limit {
		return true
	}
	taken := atomic.LoadUint64(&m.taken)
	m.limit = taken + uint64(m.s.cfg.Mailbox)
	return after <= m.limit || taken == m.posted
}

// hasSpace reports whether half of what waited when a sender began to wait for space is
// taken. The goroutine that runs the mailbox calls it, or one that holds mu.
func (m *mailbox) hasSpace() bool {
	return atomic.LoadUint64(&m.taken)+uint64(m.s.cfg.Mailbox)/2 >= m.fullAt.Load() || m.dead.Load()
}

// crowd makes the mailbox fullAt. mu is held.
func (m *mailbox) markFull() *overflow {
	if m.overflow == nil {
		m.overflow = &overflow{}
		m.overflow.room.L = &m.mu
	}
	m.fullAt.Store(m.posted)
	return m.overflow
}

// postFull posts to a mailbox without room: an actor's message waits in its
// outbox, any other goroutine waits. mu is held, and released.
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

// refill moves what waits for room into the mailbox, and schedules the actor.
func (m *mailbox) refill() {
	m.mu.Lock()
	all := m.refilled()
	m.arouse()
	m.moved(all)
}

// refilled moves what waits for room into the mailbox, if there is any, and returns
// it for moved. mu is held.
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

// moved makes the outboxes smaller from which messages were moved.
func (m *mailbox) moved(all []waiting) {
	for _, w := range all {
		m.s.release(w.owner, m, int64(w.cost))
	}
}
