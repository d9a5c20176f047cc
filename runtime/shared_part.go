package runtime

import "github.com/gorun-hpc/gorun/runtime/internal/arena"

// part is the part of a Shared in this rank's arena. Each other member on the node may use the part until that member
// has called Close or has ended.
type part struct {
	lease arena.Lease
	gone  []*Word // bit set, by index of the member, of the members that have called Close
	users []int   // world ranks by index of the member, -1 for this rank and for members on other nodes
}

// unused reports whether every user has called Close or has ended. The argument detached is the
// field detached of memory.
func (p part) unused(detached map[int]bool) bool {
	for i, rank := range p.users {
		if rank < 0 || detached[rank] {
			continue
		}
		if p.gone[i/64].Load()>>(i%64)&1 == 0 {
			return false
		}
	}
	return true
}
