package virtual

import (
	"fmt"
	"runtime/debug"
)

// Alone runs body as one rank of a setup, without the others and without payload: every message
// comes and goes at once. It returns what the rank does, which depends on nothing that other
// ranks send as long as the body does not. Times are zero but for work.
func Alone(s Setup, rank int, body func(r *Rank) error) (Cost, error) {
	if rank < 0 || rank >= s.Ranks {
		return Cost{}, fmt.Errorf("rank %d of %d does not exist", rank, s.Ranks)
	}
	if err := s.Model.Validate(); err != nil {
		return Cost{}, err
	}
	s.Payload = false
	n := &network{Setup: s, alone: true}
	defer n.close()
	r := &Rank{net: n, id: rank}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	func() {
		defer r.recovered()
		r.finish(body(r))
	}()
	return r.cost, n.err
}
