// Package port is where package actors accesses the internals of a World. Package runtime
// cannot pass them itself: it does not import actors, so that a program without actors does
// not contain that package, and what runtime exports is for every user.
package port

import (
	"log/slog"
	"strconv"

	"github.com/gorun-hpc/gorun/runtime/internal/arena"
	"github.com/gorun-hpc/gorun/runtime/internal/engine"
	"github.com/gorun-hpc/gorun/transport"
)

// World is what actors need of a runtime.World. Messages are *runtime.Message,
// which this package cannot name.
type World interface {
	// Engine is the rank's engine.
	Engine() *engine.Engine
	// Rank is this rank's number, Size the number of ranks, Epoch the generation of the
	// job, which is the same at all ranks.
	Rank() int
	Size() int
	Epoch() int
	// Keep returns what was kept for this World before, or keeps what open
	// returns. World.Close calls its second result when the engine has ended.
	Keep(open func() (kept any, closed func(), err error)) (any, error)
	// Host is the name of the machine of a rank, "" if it is not known.
	Host(rank int) string
	// Respawns says that a rank that is lost is started again, in another World.
	Respawns() bool
	// Successor returns what is kept for the World that has replaced this one, nil if there is
	// none, or nothing is kept for it yet.
	Successor() (kept any)
	// ActorSystem returns the *actor.ActorSystem of the transports' own actors, which
	// then is that of the rank and logs to log; nil if there is none.
	ActorSystem(log slog.Handler) any
	// TransportActors lists the transports' own actors, parents first.
	TransportActors() []Actor
	// TellIdle has idle called, on any goroutine, to know whether no actor is in a queue to run.
	TellIdle(idle func() bool)
	// Guard runs fn so that its panic is the rank's.
	Guard(fn func())

	// Bytes returns the bytes of a message, and false if it is not alive.
	Bytes(message any) ([]byte, bool)
	// Give puts the memory of a message in flight to a rank. Memory of another
	// rank is copied first. After it either Given or Regain is called.
	Give(message any, to int) (Gift, error)
	// Given ends the message: its memory is the receiver's.
	Given(message any, g Gift, to int)
	// Regain takes the memory back: the message lives on.
	Regain(message any, g Gift)
	// Detach ends a message as if it had been given to a rank, and returns its
	// memory, which has no other holder. Drop gives that back.
	Detach(message any, to int) Detached
	Drop(d Detached)
	// Received makes a message of what came from a rank.
	Received(m *engine.Message) any
	// Wrap makes a message that owns memory of this process.
	Wrap(source int, b []byte) any
	// Hold makes a message of n bytes of this rank's arena.
	Hold(n int) (message any, err error)
	// Release ends a message.
	Release(message any)
}

// Actor is the description of an actor for listings.
type Actor struct {
	// ID is its id; "/" separates it from that of its parent.
	ID string
	// Kind and State say in a few words what it is and how it is.
	Kind, State string
	// Busy says that it is at a message, or waits for others.
	Busy bool
	// Restarts is how often its supervisor restarted it.
	Restarts int
}

// Explainer is what is kept for actors, if it can list them: all that live on the
// rank, the transports' included, parents first.
type Explainer interface{ Actors() []Actor }

// Address is the address of the actors of a rank in a generation of the job.
func Address(rank int, epoch uint32) string {
	a := AddressPrefix + strconv.Itoa(rank)
	if epoch > 0 {
		a += "@" + strconv.FormatUint(uint64(epoch), 10)
	}
	return a
}

// AddressPrefix begins the address of every rank.
const AddressPrefix = "rank:"

// Gift is memory in flight.
type Gift struct {
	Lease arena.Lease
	Key   transport.Key
}

// Detached is memory of a message that has ended: of this rank's arena, or what came
// with a message of the engine.
type Detached struct {
	Lease   arena.Lease
	Message *engine.Message
}

// Of returns the World behind a *runtime.World. Package runtime sets it.
var Of func(world any) World
