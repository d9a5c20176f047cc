package virtual

import (
	"fmt"
	"runtime/debug"
)

// Alone runs body as one rank of a setup, without the other ranks and without payload: every Send and
// Recv completes at once. It returns the cost of the rank. If body does not depend on the contents of
// messages, the numbers of messages, bytes and steps equal those of the same rank in a Run. Messages
// take no time: Busy counts only the time of copies and combinations.
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
