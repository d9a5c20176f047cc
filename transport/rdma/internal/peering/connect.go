package peering

import (
	"fmt"
	"time"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/negotiation"
)

// want notes that a connection is needed.
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

// need notes that a connection is to be made from now on, because of cause if there was
// one.
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

// missed ends an attempt, active or passive, to which the peer gave no answer, as far
// as contact says.
func (m *Machine) missed(now time.Duration, cause error, contact Contact, out []Action) []Action {
	absent := m.absent
	m.absent = 0
	switch contact {
	case Answered:
		out = m.answered(now, out)
	case Unanswered:
		m.silent = true
	case Unreached: // also by the host of a stopped peer, which takes so many requests
	case Absent:
		out = m.answered(now, out)
		if m.absent = absent + 1; m.absent == 1 {
			m.absentSince = now
		}
	}
	out = m.failed(now, cause, 0, out)
	if m.absent >= absentMin && (m.met || now-m.absentSince >= m.config.Absence) {
		return m.finish(down, fmt.Errorf("%w: %w", ErrAbsent, cause), out)
	}
	return out
}

// absentMin is the number of consecutive attempts that have to find nothing listening
// before a peer is given up: one may have met the end of another connection's handshake, or
// a backlog that was full for a moment.
const absentMin = 4

// answered notes that the peer is there, whatever it says.
func (m *Machine) answered(now time.Duration, out []Action) []Action {
	m.silent, m.absent = false, 0
	if !m.told {
		return out
	}
	m.told, m.since, m.giveUp = false, now, now+m.config.GiveUp
	return append(out, Action{Kind: Answers})
}

// persist goes on although the peer is silent.
func (m *Machine) persist(now time.Duration, out []Action) []Action {
	m.told, m.giveUp = true, now+max(now-m.since, m.config.GiveUp)
	return append(out, Action{Kind: Silent, For: now - m.since, Err: m.cause})
}

// failed ends an attempt. The next one is made after a pause, at least the given one,
// if a connection is wanted.
func (m *Machine) failed(now time.Duration, cause error, atLeast time.Duration, out []Action) []Action {
	m.conn = Conn{}
	if !m.wanted {
		m.phase = idle
		return out
	}
	if m.turned {
		// The peer can reach this side, and perhaps not the other way round: leave it
		// the time for its next request.
		atLeast = max(atLeast, 2*m.config.RetryMax)
	}
	m.phase, m.cause = waiting, cause
	m.timer = now + max(m.config.pause(m.tries), atLeast)
	m.tries++
	return out
}

// use puts the connection in use.
func (m *Machine) use(now time.Duration, out []Action) []Action {
	out = m.answered(now, out)
	m.phase, m.wanted, m.tries, m.cause, m.met = connected, false, 0, nil, true
	return append(out, Action{Kind: Use, Conn: m.conn})
}

// established takes the reply to the request under way.
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

// meet learns the incarnation of the peer.
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

// refused takes the peer's refusal of the request under way.
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

// requested takes a request of the peer.
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
		// What was in use is made again, if not by this request then by the next.
		m.need(now, nil)
	}
	out = m.meet(g.Incarnation, m.release(cause, out))
	m.seen, m.seenKnown = g.Attempt, true
	m.phase, m.conn, m.timer, m.goodbye, m.turned = accepted, e.Conn, now+m.config.Confirm, false, false
	return append(out, Action{
		Kind: Accept, Conn: e.Conn, Greeting: Greeting{m.config.Incarnation, m.attempt},
	})
}

// objection returns why a request is refused, and false if it is not. What is
// refused for the moment only is remembered all the same: its sender comes back
// with a new number, so that the old one would be a replay.
func (m *Machine) objection(g Greeting, restarted bool) (negotiation.Reject, bool) {
	refuse := func(r negotiation.Reason) (negotiation.Reject, bool) {
		return negotiation.Reject{Reason: r}, true
	}
	switch {
	case m.known && newer(m.peer, g.Incarnation), m.end == down && !restarted:
		return negotiation.Reject{Reason: negotiation.StaleEpoch, Incarnation: m.peer}, true
	case m.end == down:
		// A new machine is made for the next incarnation of a peer that was lost.
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
