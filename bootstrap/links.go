package bootstrap

import "io"

// Link is the way to the ranks of other nodes.
type Link struct {
	out    *outlet
	states [RankGone + 1]int // how many of the ranks are in each
}

// Link makes conn the way to some ranks, for which Serve is not called then: all of one node, or of
// several that pass frames on to each other. What is written to conn are whole frames for Relay.Tell;
// a slow conn delays no other rank. Link is called before the first frame of these ranks is taken.
func (s *Server) Link(ranks []int, conn io.Writer) *Link {
	l := NewLink(conn)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, rank := range ranks {
		m := &s.members[rank]
		m.linked = l
		l.states[m.state]++
	}
	s.links = append(s.links, l)
	return l
}

// NewLink makes conn, as in Server.Link, a way to ranks of a later generation: Next.Links says which.
func NewLink(conn io.Writer) *Link {
	l := &Link{out: &outlet{}}
	l.out.connect(conn)
	return l
}

// beside reports whether the frames of two ranks come by the same link. Callers hold mu.
func (s *Server) beside(a, b int) bool {
	return s.members[a].linked != nil && s.members[a].linked == s.members[b].linked
}

// relink makes these the links of the next generation, and tells their relays a plan. The others are
// not written to any more. Callers hold mu.
func (s *Server) relink(links map[*Link][]int, plan []byte) {
	for _, l := range s.links {
		if _, kept := links[l]; !kept {
			l.out.drop()
		}
	}
	s.links = s.links[:0]
	frame := appendFrame(nil, kindRenew, plan)
	for l, ranks := range links {
		l.states = [RankGone + 1]int{RankStarted: len(ranks)}
		l.out.push(frame)
		s.links = append(s.links, l)
	}
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
func (l *Link) has(from RankState) bool {
	n := 0
	for state := from; state <= RankJoined; state++ {
		n += l.states[state]
	}
	return n > 0
}
