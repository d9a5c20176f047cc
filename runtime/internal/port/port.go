// Package port gives package actors access to the internals of a World, through an interface that
// package runtime implements and registers here (Of). Package runtime does not import actors, so
// that a program without actors does not contain that package. Package runtime does not export the
// internals either, because its exported names are for every user.
package port

import (
	"log/slog"
	"strconv"

	"github.com/gorun-hpc/gorun/runtime/internal/arena"
	"github.com/gorun-hpc/gorun/runtime/internal/engine"
	"github.com/gorun-hpc/gorun/transport"
)

// World is the part of a runtime.World that package actors uses. The arguments named message and the
// messages that its methods return have the type *runtime.Message. This package cannot name that
// type, because package runtime imports it.
type World interface {
	// Engine is the rank's engine.
	Engine() *engine.Engine
	// Rank returns this rank's number. Size returns the number of ranks. Epoch returns the
	// generation of the job, which is the same at all ranks.
	Rank() int
	Size() int
	Epoch() int
	// Keep returns the value that this World keeps for package actors. If there is none yet, it calls
	// open and keeps its first result. The second result, closed, is called after the engine has ended
	// (World.Close, World.Resume). The error is the error of open, or ErrClosed after the end of the engine.
	Keep(open func() (kept any, closed func(), err error)) (any, error)
	// Host returns the name of the machine of a rank, or "" if it is not known.
	Host(rank int) string
	// Respawns reports whether the job starts a lost rank again, in a new World.
	Respawns() bool
	// Successor returns the value that Keep keeps for the World that has replaced this one. It
	// returns nil if no World has replaced this one, or if nothing is kept for that World yet.
	Successor() (kept any)
	// ActorSystem returns the *actor.ActorSystem in which the transports run actors of their own,
	// or nil if there is none. The actors of the rank then use the same system, which logs to log.
	ActorSystem(log slog.Handler) any
	// TransportActors lists the actors of the transports, parents first.
	TransportActors() []Actor
	// TellIdle registers idle, which reports whether no actor is queued to run. Any goroutine may
	// call idle.
	TellIdle(idle func() bool)
	// Guard runs fn. A panic of fn is treated as a panic of the rank. If ranks are goroutines of one process, a call
	// of runtime.Goexit in fn is a failure of the rank, too.
	Guard(fn func())

	// Bytes returns the bytes of a message. It returns false if the message is nil, if it has ended (it was sent or
	// released), or if it belongs to another World.
	Bytes(message any) ([]byte, bool)
	// Give begins the handover of the memory of a message to a rank. Afterwards the memory is in
	// flight (arena.Arena.Give). The memory of a message that was received may belong to another rank, so
	// Give first replaces it by a copy in this rank's arena. The caller then calls either Given or Regain.
	Give(message any, to int) (Gift, error)
	// Given completes the handover. The receiver owns the memory, and the message has ended here.
	Given(message any, g Gift, to int)
	// Regain cancels the handover. The message owns the memory again.
	Regain(message any, g Gift)
	// Detach ends a message as if it had been sent to a rank. It transfers the ownership of the
	// memory to the caller, who frees it by Drop.
	Detach(message any, to int) Detached
	Drop(d Detached)
	// Received returns a message with the memory of a message of the engine.
	Received(m *engine.Message) any
	// Wrap returns a message from source whose memory is b, allocated in this process.
	Wrap(source int, b []byte) any
	// Hold returns a message of n bytes, allocated in this rank's arena.
	Hold(n int) (message any, err error)
	// Release ends a message and frees its memory.
	Release(message any)
}

// Actor describes an actor in a listing.
type Actor struct {
	// ID is the actor's id. The id of a child is the id of its parent, "/" and its own name.
	ID string
	// Kind says in a few words which kind of actor it is. State says what the actor is doing.
	Kind, State string
	// Busy is true while the actor runs or is queued to run, or waits for another actor or rank. It is
	// always false for a suspended actor, for one with a custom mailbox, for a router and for the actors of
	// the transports.
	Busy bool
	// Restarts is the number of times that the actor's supervisor has restarted it.
	Restarts int
}

// Explainer is implemented by a value of World.Keep that can list actors. Actors returns all actors
// that live on the rank, including the actors of the transports, parents first.
type Explainer interface{ Actors() []Actor }

// Address returns the address part of the PIDs of the actors of a rank in a generation of the job.
func Address(rank int, epoch uint32) string {
	a := AddressPrefix + strconv.Itoa(rank)
	if epoch > 0 {
		a += "@" + strconv.FormatUint(uint64(epoch), 10)
	}
	return a
}

// AddressPrefix is the prefix of the address of every rank.
const AddressPrefix = "rank:"

// Gift is arena memory that is in flight to another rank, with its key.
type Gift struct {
	Lease arena.Lease
	Key   transport.Key
}

// Detached is the memory of a message that has ended. It is either a lease of this rank's arena or
// the memory of a message of the engine.
type Detached struct {
	Lease   arena.Lease
	Message *engine.Message
}

// Of returns the World that belongs to world, a *runtime.World. Package runtime sets Of.
var Of func(world any) World
