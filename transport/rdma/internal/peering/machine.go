package peering

import (
	"errors"
	"fmt"
	"time"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/negotiation"
)

var (
	// ErrTimeout means that the peer did not answer before the deadline of the phase.
	ErrTimeout = errors.New("no answer in time")
	// ErrAbsent means that nothing listens at the peer's address.
	ErrAbsent = errors.New("nothing listens there")
	// ErrReplaced means that the peer had lost the connection and requested another one.
	ErrReplaced = errors.New("replaced by a newer connection of the peer")
	// ErrRestarted means that the peer has a new incarnation.
	ErrRestarted = errors.New("the peer was restarted")
)

// phase is the state of a Machine.
type phase uint8

const (
	idle      phase = iota // there is no connection, and no connection is wanted
	dialing                // a request of this side is in transit
	waiting                // the next attempt follows after a pause
	accepted               // a request was accepted, and no message has arrived on the connection
	connected              // the connection is in use
	closing                // a BYE was sent or received
	over                   // the final phase
)

// end is the reason for which a machine is over.
type end uint8

const (
	alive    end = iota // the machine is not over
	down                // the peer was given up
	ended               // the peer announced its end
	finished            // this side ended
)

// Machine is one rank's view of one peer. It is a value: a copy shares only
// Config.Random with the original. It is not safe for concurrent use.
type Machine struct {
	config Config

	phase phase
	end   end
	conn  Conn          // the connection of the phases dialing, accepted, connected and closing
	timer time.Duration // the time at which the phase ends by itself; unused in idle, connected, over

	wanted  bool          // a connection is needed, and no connection is in use yet
	since   time.Duration // when the connection was first needed, or when the peer first answered after a silence
	giveUp  time.Duration // at this time and later, no new attempt is made
	tries   int           // failed attempts since the last connection
	cause   error         // the error of the last failed attempt, or of the connection that was lost
	number  uint32        // Conn.Number of the last active connection
	attempt uint16        // the attempt number of this side's last request

	peer      uint16 // the peer's incarnation
	known     bool   // peer is valid
	seen      uint16 // the newest attempt number of the peer's incarnation
	seenKnown bool   // seen is valid

	met         bool          // a connection with the peer's incarnation has been in use
	absent      int           // consecutive attempts that found that nothing listens
	absentSince time.Duration // the time at which the first of these attempts ended

	silent    bool // an attempt was Unanswered since the peer last answered
	told      bool // the action Silent was returned, and Answers has not followed yet
	turned    bool // in dialing: a request of the peer was refused in favour of the request of this side
	goodbye   bool // in closing: this side has sent BYE
	peerFinal bool // a BYE of the peer announced its end
	ending    bool // this side ends
}

// New returns a machine in the phase idle. It panics if Rank and Peer of the config are
// equal, or if Random is nil.
func New(config Config) *Machine {
	if config.Rank == config.Peer || config.Random == nil {
		panic("peering: a pair needs two ranks and a source of randomness")
	}
	config.populate()
	return &Machine{config: config}
}

// InUse returns the connection in use, or false if no connection is in use.
func (m *Machine) InUse() (Conn, bool) {
	if m.phase != connected {
		return Conn{}, false
	}
	return m.conn, true
}

// Deadline returns the time at which a Tick is due, or false if no Tick is due.
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

// Step handles one event and appends the actions that follow from it to out. now is
// the present time, and must not be earlier than in the previous call.
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
			return out // the event is of a connection that was given up
		}
		return m.connEvent(now, e, out)
	}
}

// stopMin is the lateness of a Step above which the machine assumes that this process
// did not run.
const stopMin = time.Second

// wake detects by a late Step that this process was stopped, or did not get a processor, while it
// waited for a connection. The duration of the stop is not counted against the peer, because the
// peer may have answered in the meantime. So wake adds the lateness to since and giveUp, leaves
// time for at least one more attempt, and sets the number of attempts that found that nothing listens to 0.
func (m *Machine) wake(now time.Duration) {
	at, ok := m.Deadline()
	if late := now - at; ok && m.wanted && late > stopMin {
		m.since += late
		m.giveUp = max(m.giveUp+late, now+m.config.Attempt)
		m.absent = 0
	}
}

// connEvent handles an event of m.conn. It ignores an event that does not fit the phase.
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

// tick handles the end of a phase if Deadline has passed.
func (m *Machine) tick(now time.Duration, out []Action) []Action {
	at, ok := m.Deadline()
	switch {
	case !ok || now < at:
		return out
	case m.phase == waiting && now >= m.giveUp && m.config.Supervised && m.silent:
		return m.persist(now, out)
	case m.phase == waiting && now >= m.giveUp:
		return m.finish(down, fmt.Errorf("no connection within %v: %w", (m.giveUp-m.since).Round(time.Millisecond), m.cause), out)
	case m.phase == waiting:
		return m.dial(now, out)
	case m.phase == closing:
		return m.closed(now, append(out, Action{Kind: Drop, Conn: m.conn}))
	}
	out = append(out, Action{Kind: Drop, Conn: m.conn})
	contact := Unreached
	if m.phase == accepted {
		contact = Unanswered // the peer had requested the connection
	}
	return m.missed(now, ErrTimeout, contact, out)
}

// shutdown begins the end of this side. If a connection is in use, shutdown sends a BYE. If a connection
// is in the phase closing, this side ends when the connection has ended. Otherwise this side ends at once.
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

// finish moves the machine to the phase over. The caller has released the connection.
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

// release retires and drops m.conn, if there is a connection.
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
