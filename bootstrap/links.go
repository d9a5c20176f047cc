package bootstrap

import "io"

// Link is the connection of a Server to the relays of one or several other nodes. Through a link, the server
// reaches the ranks of these nodes.
type Link struct {
	out    *outlet
	states [RankGone + 1]int // by state: the number of ranks of the link in that state
}

// Link makes conn the connection to the given ranks. The caller does not call Serve for these ranks. The
// given ranks are all ranks of one node, or all ranks of several nodes that pass frames on to each other.
// Each write to conn is one whole frame. The other end must pass each frame to Relay.Tell. A slow conn
// delays no ranks of other links. Link must be called before the first Take for these ranks.
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

// NewLink makes a link over conn for a later generation. Next.Links lists the ranks of the link.
func NewLink(conn io.Writer) *Link {
	l := &Link{out: &outlet{}}
	l.out.connect(conn)
	return l
}

// beside reports whether two ranks have the same link. Callers hold mu.
func (s *Server) beside(a, b int) bool {
	return s.members[a].linked != nil && s.members[a].linked == s.members[b].linked
}

// relink sets the links of the next generation, and sends plan to their relays. It drops the links that are
// not in the next generation, and writes nothing more to them. Callers hold mu.
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

// reach sets the state of a rank, and updates the counts in Link.states if the rank has a link. Callers hold
// the server's mu.
func (m *member) reach(state RankState) {
	if m.linked != nil {
		m.linked.states[m.state]--
		m.linked.states[state]++
	}
	m.state = state
}

// has reports whether at least one rank of the link has reached a state and has neither ended nor left. The
// parameter from is this state.
func (l *Link) has(from RankState) bool {
	n := 0
	for state := from; state <= RankJoined; state++ {
		n += l.states[state]
	}
	return n > 0
}
