package collectives

import (
	"github.com/gorun-hpc/gorun/collectives/internal/message"
	"github.com/gorun-hpc/gorun/runtime"
)

// Barrier returns when all members have called it.
func Barrier(c *runtime.Comm) error { return barrier(new(call), c).wait() }

// IBarrier starts a Barrier: the request completes when all members have started theirs.
func IBarrier(c *runtime.Comm) runtime.Request { return barrier(new(call), c).start() }

// BarrierInit sets up a Barrier.
func BarrierInit(c *runtime.Comm) *runtime.Persistent {
	return barrier(new(call), c).persist()
}

func barrier(k *call, c *runtime.Comm) *call {
	k.on(c, message.Barrier)
	return k
}
