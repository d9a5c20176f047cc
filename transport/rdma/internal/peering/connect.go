package peering

import (
	"fmt"
	"time"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/negotiation"
)

// want handles Want: a connection is needed.
func (m *Machine) want(now time.Duration, out []Action) []Action {
	if m.phase == over || m.phase == connected || m.wanted {
		return out
	}
	m.need(now, nil)
	m.tries = 0
	if m.phase == idle {
		return m.dial(now, out)
	}
	return out
}

// need records that a connection is wanted from now on. If the connection is wanted because another
// connection was lost, cause is the error of the lost connection. Otherwise cause is nil.
func (m *Machine) need(now time.Duration, cause error) {
	m.wanted, m.since, m.giveUp, m.silent, m.cause = true, now, now+m.config.GiveUp, false, cause
}

// dial starts the next attempt.
func (m *Machine) dial(now time.Duration, out []Action) []Action {
	m.attempt++
	m.number++
	m.phase, m.conn, m.timer = dialing, Conn{Active: true, Number: m.number}, now+m.config.Attempt
	m.turned = false
	return append(out, Action{Kind: Dial, Conn: m.conn, Greeting: Greeting{m.config.Incarnation, m.attempt}})
}

// missed ends an attempt, active or passive, that has failed without a valid answer of the peer.
// contact says how far the attempt came.
func (m *Machine) missed(now time.Duration, cause error, contact Contact, out []Action) []Action {
	absent := m.absent
	m.absent = 0
	switch contact {
	case Answered:
		out = m.answered(now, out)
	case Unanswered:
		m.silent = true
	case Unreached: // also the contact of a stopped peer, if the backlog of its host is full
	case Absent:
		out = m.answered(now, out)
		if m.absent = absent + 1; m.absent == 1 {
			m.absentSince = now
		}
	case Unasked: // this side failed, which shows neither an answer of the peer nor its silence
		m.silent, m.giveUp = false, min(m.giveUp, now+m.config.GiveUp)
	}
	out = m.failed(now, cause, 0, out)
	if m.absent >= absentMin && (m.met || now-m.absentSince >= m.config.Absence) {
		return m.finish(down, fmt.Errorf("%w: %w", ErrAbsent, cause), out)
	}
	return out
}

// absentMin is the number of consecutive attempts that must find that nothing listens before a peer
// is declared down. A single attempt of this kind is not enough. The peer's host may have refused it
// although the peer listens, for example because its backlog was full for a moment, or because the
// handshake of another connection was ending.
const absentMin = 4

// answered records that the peer has answered, whatever the answer was. If the action Silent was
// emitted before, answered emits Answers and starts the time GiveUp anew.
func (m *Machine) answered(now time.Duration, out []Action) []Action {
	m.silent, m.absent = false, 0
	if !m.told {
		return out
	}
	m.told, m.since, m.giveUp = false, now, now+m.config.GiveUp
	return append(out, Action{Kind: Answers})
}

// persist continues the attempts although the peer is silent. It continues them until the time of
// silence has doubled, but for at least GiveUp. persist emits Silent.
func (m *Machine) persist(now time.Duration, out []Action) []Action {
	m.told, m.giveUp = true, now+max(now-m.since, m.config.GiveUp)
	return append(out, Action{Kind: Silent, For: now - m.since, Err: m.cause})
}

// failed ends an attempt. If a connection is wanted, the next attempt follows after a pause of at
// least atLeast.
func (m *Machine) failed(now time.Duration, cause error, atLeast time.Duration, out []Action) []Action {
	m.conn = Conn{}
	if !m.wanted {
		m.phase = idle
		return out
	}
	if m.turned {
		// The peer can reach this side, but perhaps this side cannot reach the peer. The pause
		// leaves the peer time for its next request.
		atLeast = max(atLeast, 2*m.config.RetryMax)
	}
	m.phase, m.cause = waiting, cause
	m.timer = now + max(m.config.pause(m.tries), atLeast)
	m.tries++
	return out
}

// use puts the current connection in use.
func (m *Machine) use(now time.Duration, out []Action) []Action {
	out = m.answered(now, out)
	m.phase, m.wanted, m.tries, m.cause, m.met = connected, false, 0, nil, true
	return append(out, Action{Kind: Use, Conn: m.conn})
}

// established handles the reply to the pending request of this side.
func (m *Machine) established(now time.Duration, g Greeting, out []Action) []Action {
	out = m.answered(now, out)
	if m.known && newer(m.peer, g.Incarnation) {
		out = append(out, Action{Kind: Drop, Conn: m.conn})
		err := fmt.Errorf("incarnation %d of the peer answered, %d is known: %w",
			g.Incarnation, m.peer, negotiation.Refused(negotiation.StaleEpoch))
		return m.failed(now, err, 0, out)
	}
	out = m.meet(g.Incarnation, out)
	if !m.seenKnown || newer(g.Attempt, m.seen) {
		m.seen, m.seenKnown = g.Attempt, true
	}
	return m.use(now, out)
}

// meet records the incarnation of the peer, and emits Restarted if it differs from the known
// incarnation.
func (m *Machine) meet(incarnation uint16, out []Action) []Action {
	if m.known && m.peer == incarnation {
		return out
	}
	if m.known {
		out = append(out, Action{Kind: Restarted, Greeting: Greeting{Incarnation: incarnation}})
	}
	m.peer, m.known, m.seenKnown, m.met = incarnation, true, false, false
	return out
}

// refused handles the peer's refusal of the pending request of this side.
func (m *Machine) refused(now time.Duration, r negotiation.Reject, out []Action) []Action {
	m.conn = Conn{}
	out = m.answered(now, out)
	err := &negotiation.RefusalError{Reject: r, Remote: true}
	switch {
	case r.Reason == negotiation.Shutdown:
		return m.finish(ended, err, out)
	case !r.Reason.Temporary():
		return m.finish(down, err, out)
	case r.Reason == negotiation.Busy:
		return m.failed(now, err, r.Retry, out)
	}
	return m.failed(now, err, 0, out)
}

// requested handles a request of the peer, and accepts or refuses it.
func (m *Machine) requested(now time.Duration, e Event, out []Action) []Action {
	g := e.Greeting
	restarted := m.known && newer(g.Incarnation, m.peer)
	if reject, refuse := m.objection(g, restarted); refuse {
		return append(out, Action{Kind: Refuse, Conn: e.Conn, Reject: reject})
	}
	out = m.answered(now, out)
	cause := ErrReplaced
	if restarted {
		cause = ErrRestarted
	}
	if m.phase == connected {
		// The connection that was in use has to be replaced: by this request or by a later one.
		m.need(now, nil)
	}
	out = m.meet(g.Incarnation, m.release(cause, out))
	m.seen, m.seenKnown = g.Attempt, true
	m.phase, m.conn, m.timer, m.goodbye, m.turned = accepted, e.Conn, now+m.config.Confirm, false, false
	return append(out, Action{
		Kind: Accept, Conn: e.Conn, Greeting: Greeting{m.config.Incarnation, m.attempt},
	})
}

// objection returns the Reject for a request that has to be refused, and false if the request can be
// accepted. objection also records the attempt number of a request that loses against a simultaneous
// request of this side. The next request of the peer has a new number, so another request with the
// recorded number is a replay.
func (m *Machine) objection(g Greeting, restarted bool) (negotiation.Reject, bool) {
	refuse := func(r negotiation.Reason) (negotiation.Reject, bool) {
		return negotiation.Reject{Reason: r}, true
	}
	switch {
	case m.known && newer(m.peer, g.Incarnation), m.end == down && !restarted:
		return negotiation.Reject{Reason: negotiation.StaleEpoch, Incarnation: m.peer}, true
	case m.end == down:
		// This machine makes no connection with a later incarnation of a peer that is down. If the caller
		// makes another machine for that incarnation, another request can succeed.
		return negotiation.Reject{Reason: negotiation.Busy, Retry: m.config.RetryMax}, true
	case m.phase == over || m.ending:
		return refuse(negotiation.Shutdown)
	case !restarted && m.seenKnown && !newer(g.Attempt, m.seen):
		return refuse(negotiation.Duplicate)
	case !restarted && m.phase == dialing && m.config.Rank < m.config.Peer:
		m.seen, m.seenKnown, m.turned = g.Attempt, true, true
		return refuse(negotiation.Simultaneous)
	}
	return negotiation.Reject{}, false
}
