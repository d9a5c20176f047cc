package collectives

import (
	"github.com/gorun-hpc/gorun/collectives/internal/message"
	"github.com/gorun-hpc/gorun/runtime"
)

// Barrier returns when all members have called it.
func Barrier(c *runtime.Comm) error {
	g, err := enter(c)
	if err != nil {
		return refuse(opBarrier, err)
	}
	if g.size == 1 {
		return nil
	}
	return g.end(opBarrier, g.barrier())
}

func (g entry) barrier() error {
	if err := g.begin(call{op: opBarrier, root: anyRoot}); err != nil {
		return err
	}
	alg := g.choose(opBarrier, 0, 0, true)
	if alg == dissemination {
		return message.BarrierDissemination(&g.peer)
	}
	n, err := g.shared()
	if err != nil {
		return err
	}
	if alg == flags {
		return n.BarrierFlags()
	}
	return n.BarrierCounter()
}
