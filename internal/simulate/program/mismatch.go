package program

import (
	"errors"
	"fmt"
	"strings"

	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/internal/simulate"
	"github.com/gorun-hpc/gorun/runtime"
)

// Mismatch is a program of collective operations. In the last operation, one rank makes another call than its
// peers. Every rank must get an error that reports the difference, and no rank may get a wrong result.
func Mismatch() simulate.Program {
	return simulate.Program{Name: "mismatch", Ranks: []int{2, 3, 4, 5, 8}, Main: mismatch}
}

// rooted has the kinds of operations that have a root.
var rooted = map[int]bool{kindBcast: true, kindReduce: true, kindGather: true, kindScatter: true}

// other returns a call that differs from c in the root, the number of elements or the kind.
func (m *member) other(c called) called {
	o := c
	switch way := m.random.IntN(3); {
	case way == 0 && rooted[c.kind]:
		o.root = (c.root + 1) % m.comm.Size()
	case way == 1 && c.kind != kindBarrier:
		o.n++
	default:
		for o.kind == c.kind {
			o.kind = m.draw().kind
		}
	}
	return o
}

func mismatch(r simulate.Rank) error {
	m := &member{comm: r.Comm(), random: r.Random(streamMembers), world: worldRanks(r.Comm())}
	odd, before := m.random.IntN(r.Size()), m.random.IntN(20)
	var call called
	for step := 0; step <= before; step++ {
		m.step++
		call = m.draw()
		if step == before {
			call.n = max(call.n, 1) // a call without elements does not communicate
			if o := m.other(call); r.Rank() == odd {
				call = o
			}
		}
		if err := m.do(call); err != nil {
			return differing(err)
		}
	}
	// In some operations a rank waits for no other rank. At that rank, only the next operation reports the
	// mismatch.
	if err := collectives.Barrier(r.Comm()); err != nil {
		return differing(err)
	}
	return fmt.Errorf("call %+v differs from those of others, and no rank reports that", call)
}

// differing returns nil if err reports calls that differ. This rank or another rank may have detected the
// difference.
func differing(err error) error {
	if errors.Is(err, collectives.ErrMismatch) || errors.Is(err, runtime.ErrCommBroken) && strings.Contains(err.Error(), collectives.ErrMismatch.Error()) {
		return nil
	}
	return fmt.Errorf("calls differ: %w", err)
}
