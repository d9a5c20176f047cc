package bootstrap

import (
	"encoding/binary"
	"fmt"
	"math"
)

// takeFence counts a rank's call of Fence.
func (s *Server) takeFence(rank int, body []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := &s.members[rank]
	if m.stale {
		return nil // a new generation has begun since the frame arrived
	}
	if len(body) != 0 || m.state > RankJoined {
		return fmt.Errorf("bootstrap: fence of %d bytes after %d: %w", len(body), m.state, ErrMalformed)
	}
	if m.fences == s.fences {
		s.behind--
	}
	m.fences++
	s.fence()
	return nil
}

// leave records that a rank takes part in no further fences. Callers hold mu.
func (s *Server) leave(m *member) {
	if m.state > RankJoined {
		return
	}
	s.active--
	if m.fences == s.fences {
		s.behind--
	}
}

// fence checks whether the next fence is complete. If it is complete, fence tells the ranks. A fence is
// complete when all ranks that take part in it have called Fence. Callers hold mu.
func (s *Server) fence() {
	if s.active == 0 || s.behind > 0 {
		return
	}
	low := uint32(math.MaxUint32)
	for i := range s.members {
		m := &s.members[i]
		switch {
		case m.state > RankJoined:
		case m.fences < low:
			low, s.behind = m.fences, 1
		case m.fences == low:
			s.behind++
		}
	}
	s.fences = low
	s.tell(kindFenceDone, binary.LittleEndian.AppendUint32(nil, low), RankStarted)
}
