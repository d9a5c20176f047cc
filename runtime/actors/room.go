package actors

import (
	"sync"
	"sync/atomic"

	"github.com/gorun-hpc/gorun/runtime"
)

// A mailbox is bounded in bytes of its own rank: posted, which they count who post,
// less taken, which he counts who runs it. Each looks at the other's only when they
// have to: those who post when their last look, limit, allows no more; he who runs
// it when crowded says that somebody waits for room.

// queueing is who and what waits for room in a mailbox.
type queueing struct {
	overflow []waiting // of this rank's actors, after user
	room     sync.Cond // others
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

// roomy reports whether half of what waited when somebody began to wait for room is
// taken. Who runs the mailbox calls it, or holds mu.
func (m *mailbox) roomy() bool {
	return atomic.LoadUint64(&m.taken)+uint64(m.s.cfg.Mailbox)/2 >= m.crowded.Load() || m.dead.Load()
}

// crowd makes the mailbox crowded. mu is held.
func (m *mailbox) crowd() *queueing {
	if m.queueing == nil {
		m.queueing = &queueing{}
		m.queueing.room.L = &m.mu
	}
	m.crowded.Store(m.posted)
	return m.queueing
}

// postCrowded posts to a mailbox without room: an actor's message waits in its
// outbox, anybody else waits himself. mu is held, and given up.
func (m *mailbox) postCrowded(i item) {
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
			m.crowd().room.Wait()
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
	q := m.crowd()
	q.overflow = append(q.overflow, waiting{item: i, owner: who})
	emptied := m.roomy() // meanwhile
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
	if m.crowded.Load() == 0 || !m.roomy() {
		return nil
	}
	q := m.queueing
	n := 0
	for ; n < len(q.overflow); n++ {
		w := q.overflow[n]
		if !m.admits(w.cost) && !m.dead.Load() {
			break
		}
		m.put(w.item)
		all = append(all, w)
	}
	q.overflow = append(q.overflow[:0], q.overflow[n:]...)
	if len(q.overflow) > 0 {
		m.crowded.Store(m.posted)
		return all
	}
	q.overflow = nil
	m.crowded.Store(0)
	q.room.Broadcast()
	return all
}

// moved makes the outboxes smaller from which messages were moved.
func (m *mailbox) moved(all []waiting) {
	for _, w := range all {
		m.s.release(w.owner, m, int64(w.cost))
	}
}
