package program

import (
	"fmt"
	"io"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/internal/simulate"
	"github.com/gorun-hpc/gorun/runtime"
	"github.com/gorun-hpc/gorun/runtime/actors"
)

// visit is a request to the actor "host" of a rank, which responds with its own generation.
type visit struct{ Generation int }

func init() { actors.RegisterType[visit]() }

// visitTime is the timeout of a request. It is longer than any outage, and short enough to end the waits of
// a rank that was killed.
const visitTime = time.Minute

// hosts has the actor system of a rank of Resume in one generation.
type hosts struct {
	system *actors.System
	next   *actor.PID // the actor "host" of the next rank
	// early is 1 plus the generation of a visit that has reached the actor of another generation. It is 0 if
	// there was no such visit.
	early atomic.Int64
}

// welcome spawns the actor "host" of this generation. If this rank was in a generation before, welcome also sends
// two visits to the next rank's "host" of that generation. These visits must not reach any actor.
func (e *enduring) welcome(w *runtime.World) error {
	system, err := actors.OfConfig(w, actors.Config{Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		return err
	}
	h := &hosts{system: system, next: system.PID((w.Rank()+1)%w.Size(), "host")}
	where := system.Worker()
	if simulate.Chance(e.own, 0.5) {
		where = system.Inline()
	}
	_, err = system.Spawn(actor.PropsFromFunc(func(c actor.Context) {
		m, ok := c.Message().(*visit)
		if !ok {
			return
		}
		if m.Generation != w.Generation() {
			h.early.Store(int64(m.Generation) + 1)
		}
		if c.Sender() != nil {
			c.Respond(w.Generation())
		}
	}, where), "host")
	if err != nil {
		return err
	}
	if e.hosts != nil {
		stale := &visit{w.Generation() - 1}
		system.Root.Send(e.hosts.next, stale)
		system.Root.Send(actor.NewPID(e.hosts.next.Address, e.hosts.next.Id), stale)
	}
	e.hosts = h
	return nil
}

// visited sends a request to the actor of the next rank, and checks the response and the generations of the
// visits that came to this rank.
func (e *enduring) visited(c *runtime.Comm) error {
	generation := c.World().Generation()
	answer, err := e.hosts.system.Root.RequestFuture(e.hosts.next, &visit{generation}, visitTime).Result()
	// If a rank is lost, Barrier ends with the loss and the generation ends. In this case, err is ignored.
	if err := collectives.Barrier(c); err != nil {
		return err
	}
	if came := e.hosts.early.Load(); came != 0 {
		return fmt.Errorf("a visit of generation %d in generation %d", came-1, generation)
	}
	if err == nil && answer != generation {
		err = fmt.Errorf("an answer of generation %v in generation %d", answer, generation)
	}
	return err
}
