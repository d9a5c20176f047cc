package peering

import "fmt"

var phases = [...]string{"idle", "dialing", "waiting", "accepted", "connected", "closing", "over"}

// Err returns the reason why nothing can be sent to the peer any more, or nil.
func (m *Machine) Err() error {
	if m.phase != over {
		return nil
	}
	return m.cause
}

// String returns one line for diagnosis. It contains the whole state except times.
func (m *Machine) String() string {
	s := fmt.Sprintf("%s %v attempt %d", phases[m.phase], m.conn, m.attempt)
	if m.known {
		s += fmt.Sprintf(" peer %d", m.peer)
	}
	if m.seenKnown {
		s += fmt.Sprintf(" at %d", m.seen)
	}
	for _, flag := range []struct {
		set  bool
		name string
	}{
		{m.wanted, "wanted"},
		{m.silent, "silent"},
		{m.told, "told"},
		{m.met, "met"},
		{m.absent > 0, fmt.Sprintf("absent %d times", m.absent)},
		{m.goodbye, "bye"},
		{m.peerFinal, "peer ends"},
		{m.ending, "ending"},
		{m.end == down, "down"},
		{m.end == ended, "ended"},
		{m.end == finished, "finished"},
	} {
		if flag.set {
			s += ", " + flag.name
		}
	}
	return s
}
