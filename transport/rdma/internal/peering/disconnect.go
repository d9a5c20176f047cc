package peering

import (
	"time"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/negotiation"
)

// lost handles the failure or the end of the current connection.
func (m *Machine) lost(now time.Duration, cause error, contact Contact, out []Action) []Action {
	switch m.phase {
	case connected:
		out = append(out, Action{Kind: Retire, Conn: m.conn, Err: cause})
		m.conn = Conn{}
		m.need(now, cause)
		if m.config.Rank < m.config.Peer {
			return m.dial(now, out)
		}
		// This side waits, because the peer has the lower rank and most likely dials at this
		// moment.
		return m.failed(now, cause, 0, out)
	case closing:
		return m.closed(now, out)
	default:
		return m.missed(now, cause, contact, out)
	}
}

// sayBye begins the orderly end of the connection in use: it sends BYE.
func (m *Machine) sayBye(now time.Duration, out []Action) []Action {
	out = m.retire(now, out)
	m.goodbye = true
	return append(out, Action{Kind: SendBye, Conn: m.conn, Final: m.ending})
}

// hearBye handles the peer's BYE, and sends BYE-ACK. If both sides send BYE at the same time, the
// peer's BYE arrives in the phase closing. Then both sides answer, and each side closes when it has
// received the answer to its own BYE.
func (m *Machine) hearBye(now time.Duration, final bool, out []Action) []Action {
	m.peerFinal = m.peerFinal || final
	if m.phase == connected {
		out = m.retire(now, out)
	}
	return append(out, Action{Kind: SendByeAck, Conn: m.conn})
}

// retire takes the connection in use out of use, and enters the phase closing.
func (m *Machine) retire(now time.Duration, out []Action) []Action {
	m.phase, m.timer, m.goodbye = closing, now+m.config.Goodbye, false
	return append(out, Action{Kind: Retire, Conn: m.conn})
}

// closed handles the end of the connection in the phase closing. If this side or the peer ends,
// closed ends the machine. If a connection is wanted, closed makes the next connection.
func (m *Machine) closed(now time.Duration, out []Action) []Action {
	m.conn, m.goodbye = Conn{}, false
	switch {
	case m.peerFinal:
		return m.finish(ended, negotiation.Refused(negotiation.Shutdown), out)
	case m.ending:
		return m.finish(finished, negotiation.Refused(negotiation.Shutdown), out)
	case m.wanted:
		return m.dial(now, out)
	}
	m.phase = idle
	return out
}
