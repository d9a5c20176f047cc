package bootstrap

import "io"

// link is the way to the ranks of another node.
type link struct {
	out    *outlet
	states [RankGone + 1]int // how many of the ranks are in each
}

// Link makes conn the way to some ranks, all of one node, for which Serve is not
// called then. What is written to conn are whole frames for Relay.Tell; a slow conn delays
// no other rank. Link is called before the first frame of these ranks is taken.
func (s *Server) Link(ranks []int, conn io.Writer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := &link{out: &outlet{}}
	l.out.connect(conn)
	for _, rank := range ranks {
		m := &s.members[rank]
		m.linked = l
		l.states[m.state]++
	}
	s.links = append(s.links, l)
}

// reach brings a rank to a state. Callers hold the server's mu.
func (m *member) reach(state RankState) {
	if m.linked != nil {
		m.linked.states[m.state]--
		m.linked.states[state]++
	}
	m.state = state
}

// has reports whether a rank of the link has reached a state and has not ended.
func (l *link) has(from RankState) bool {
	n := 0
	for state := from; state <= RankJoined; state++ {
		n += l.states[state]
	}
	return n > 0
}
