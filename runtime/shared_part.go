package runtime

import "github.com/gorun-hpc/gorun/runtime/internal/arena"

// part is the part of a Shared in this rank's arena, which other members may use until each of them
// is gone or down.
type part struct {
	lease arena.Lease
	gone  []*Word // bit set of the members that have called Close, by index of the member
	users []int   // world ranks by index of the member, -1 for a member that never had the part
}

// unused reports whether every user is gone or down.
func (p part) unused(down map[int]error) bool {
	for i, rank := range p.users {
		if rank < 0 || down[rank] != nil {
			continue
		}
		if p.gone[i/64].Load()>>(i%64)&1 == 0 {
			return false
		}
	}
	return true
}
