package peering

import (
	"errors"
	"fmt"
	"time"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/negotiation"
)

var (
	// ErrTimeout says that the peer did not answer in time.
	ErrTimeout = errors.New("no answer in time")
	// ErrAbsent says that nothing listens at the peer's address.
	ErrAbsent = errors.New("nothing listens there")
	// ErrReplaced says that the peer had lost the connection and made another.
	ErrReplaced = errors.New("replaced by a newer connection of the peer")
	// ErrRestarted says that the peer has a new incarnation.
	ErrRestarted = errors.New("the peer was restarted")
)

// phase is what a Machine is at.
type phase uint8

const (
	idle      phase = iota // no connection, none wanted
	dialing                // a request is on its way
	waiting                // for the next attempt
	accepted               // for the first message on an accepted connection
	connected              // in use
	closing                // BYE sent or received
	over                   // final
)

// end is why a machine is over.
type end uint8

const (
	alive    end = iota
	down         // the peer was given up
	ended        // the peer said that it ends
	finished     // this side ended
)

// Machine is one rank's view of one peer. It is a value: a copy is independent,
// but for Config.Random. It is not safe for concurrent use.
type Machine struct {
	config Config

	phase phase
	end   end
	conn  Conn          // of dialing, accepted, connected and closing
	timer time.Duration // when the phase ends by itself; not in idle, connected, over

	wanted  bool          // a connection is needed until connected
	since   time.Duration // since when, or when the peer sent after a silence
	giveUp  time.Duration // from when on no new attempt is made
	tries   int           // attempts that failed since the last connection
	cause   error         // why the last one failed
	number  uint32        // of the last active connection
	attempt uint16        // number of the last request

	peer      uint16 // the peer's incarnation
	known     bool   // peer is known
	seen      uint16 // newest attempt of the peer, of that incarnation
	seenKnown bool   // seen is known

	met         bool          // a connection was in use
	absent      int           // consecutive attempts that found nothing listening
	absentSince time.Duration // when the first of them ended

	silent    bool // an attempt since the peer last sent was Unanswered
	told      bool // Silent was said, Answers was not
	turned    bool // dialing: the peer's request was turned away in favour of this one
	goodbye   bool // closing: this side said BYE
	peerFinal bool // the peer said that it ends
	ending    bool // this side ends
}

// New returns the machine of a pair. It panics when a rank would be its own peer
// or without a source of randomness.
func New(config Config) *Machine {
	if config.Rank == config.Peer || config.Random == nil {
		panic("peering: a pair needs two ranks and a source of randomness")
	}
	config.populate()
	return &Machine{config: config}
}

// InUse returns the connection in use, and false if there is none.
func (m *Machine) InUse() (Conn, bool) {
	if m.phase != connected {
		return Conn{}, false
	}
	return m.conn, true
}

// Deadline returns when a Tick is due, and false if none is.
func (m *Machine) Deadline() (time.Duration, bool) {
	switch m.phase {
	case idle, connected, over:
		return 0, false
	case waiting:
		return min(m.timer, m.giveUp), true
	default:
		return m.timer, true
	}
}

// Step takes one event at a time that never goes back, and adds what is to be
// done to out.
func (m *Machine) Step(now time.Duration, e Event, out []Action) []Action {
	m.wake(now)
	switch e.Kind {
	case Tick:
		return m.tick(now, out)
	case Want:
		return m.want(now, out)
	case Idle:
		if m.phase == connected {
			return m.sayBye(now, out)
		}
		return out
	case Shutdown:
		return m.shutdown(now, out)
	case Gone:
		if m.phase == over {
			return out
		}
		return m.finish(down, e.Err, m.release(e.Err, out))
	case Requested:
		return m.requested(now, e, out)
	default:
		if e.Conn != m.conn || m.conn == (Conn{}) {
			return out // of a connection that was given up
		}
		return m.connEvent(now, e, out)
	}
}

// stopMin is how late a Step has to be for it to say that this process did not run.
const stopMin = time.Second

// wake sees to it that the time in which this process was stopped, or did not get a
// processor, is not counted against the peer: it may have answered.
func (m *Machine) wake(now time.Duration) {
	at, ok := m.Deadline()
	if late := now - at; ok && m.wanted && late > stopMin {
		m.since += late
		m.giveUp = max(m.giveUp+late, now+m.config.Attempt)
	}
}

// connEvent is an event of the connection that the machine is at.
func (m *Machine) connEvent(now time.Duration, e Event, out []Action) []Action {
	switch {
	case e.Kind == Lost:
		return m.lost(now, e.Err, e.Contact, out)
	case e.Kind == Established && m.phase == dialing:
		return m.established(now, e.Greeting, out)
	case e.Kind == Refused && m.phase == dialing:
		return m.refused(now, e.Reject, out)
	case e.Kind == FirstMessage && m.phase == accepted:
		return m.use(now, out)
	case e.Kind == Bye && (m.phase == connected || m.phase == closing):
		return m.hearBye(now, e.Final, out)
	case e.Kind == ByeAck && m.phase == closing && m.goodbye:
		return m.closed(now, append(out, Action{Kind: Close, Conn: m.conn}))
	}
	return out
}

// tick acts when a deadline has passed.
func (m *Machine) tick(now time.Duration, out []Action) []Action {
	at, ok := m.Deadline()
	switch {
	case !ok || now < at:
		return out
	case m.phase == waiting && now >= m.giveUp && m.config.Supervised && m.silent:
		return m.persist(now, out)
	case m.phase == waiting && now >= m.giveUp:
		return m.finish(down, fmt.Errorf("no connection within %v: %w", m.config.GiveUp, m.cause), out)
	case m.phase == waiting:
		return m.dial(now, out)
	case m.phase == closing:
		return m.closed(now, append(out, Action{Kind: Drop, Conn: m.conn}))
	}
	out = append(out, Action{Kind: Drop, Conn: m.conn})
	contact := Unreached
	if m.phase == accepted {
		contact = Unanswered // the peer had asked for it
	}
	return m.missed(now, ErrTimeout, contact, out)
}

// shutdown ends this side.
func (m *Machine) shutdown(now time.Duration, out []Action) []Action {
	if m.ending {
		return out
	}
	m.ending, m.wanted = true, false
	switch m.phase {
	case connected:
		return m.sayBye(now, out)
	case closing:
		return out
	case over:
		return append(out, Action{Kind: Finished})
	default:
		return m.finish(finished, negotiation.Refused(negotiation.Shutdown), m.release(nil, out))
	}
}

// finish makes the machine be over. Its connection is released already.
func (m *Machine) finish(e end, cause error, out []Action) []Action {
	m.phase, m.end, m.cause, m.wanted = over, e, cause, false
	switch e {
	case down:
		out = append(out, Action{Kind: Down, Err: cause})
	case ended:
		out = append(out, Action{Kind: Ended, Err: cause})
	case alive, finished:
	}
	if m.ending {
		out = append(out, Action{Kind: Finished})
	}
	return out
}

// release gives up the connection that the machine is at, if any.
func (m *Machine) release(cause error, out []Action) []Action {
	if m.phase == connected {
		out = append(out, Action{Kind: Retire, Conn: m.conn, Err: cause})
	}
	if m.conn != (Conn{}) {
		out = append(out, Action{Kind: Drop, Conn: m.conn})
	}
	m.conn = Conn{}
	return out
}
