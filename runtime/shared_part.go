package runtime

import "github.com/gorun-hpc/gorun/runtime/internal/arena"

// part is a part of this rank's arena that members may use until they are gone.
type part struct {
	lease arena.Lease
	gone  []*Word
	users []int // world ranks, -1 where a member never had the part
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
