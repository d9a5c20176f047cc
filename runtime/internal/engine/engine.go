package engine

import (
	"time"

	"github.com/gorun-hpc/gorun/transport"
)

// WaitPolicy says how long a waiting goroutine polls before it gives way.
type WaitPolicy struct {
	// Spin is how long it polls without giving way at all. 0 = not at all.
	Spin time.Duration
	// Yield is how long after that it polls between Sleeper.Yield calls. After
	// it, it sleeps.
	Yield time.Duration
}

// Config describes an engine. Rank and Size must be set, and Route when Size > 1.
type Config struct {
	// Rank is this rank, in [0, Size).
	Rank, Size int
	// Route returns the transport that leads to peer, or nil if none does.
	Route func(peer int) transport.Transport
	// Transports are all that have to be polled; the first is polled most often.
	Transports []transport.Transport
	// Sleeper is how waiting goroutines give way. nil = goroutines only.
	Sleeper transport.Sleeper
	// Wait is the policy of waiting goroutines.
	Wait WaitPolicy
	// UnexpectedBudget bounds the memory in bytes for messages nobody asked for
	// yet, all peers together. It must be the same on all ranks. Default 64 MiB.
	UnexpectedBudget int64
	// ChunkBytes is the longest single Get or Put. Default 64 MiB.
	ChunkBytes int
	// TypeName returns the text of a Type of this rank. nil = decimal numbers.
	TypeName func(Type) string
	// Member says whether a peer belongs to a context. It is asked when a peer is
	// down, to decide in which contexts AnySource receives hear of it. nil = every
	// peer belongs to every context. Called with the engine's lock held.
	Member func(context uint32, peer int) bool
	// Lost is told once of every peer that is down. Called with the engine's lock
	// held: it must not call the engine. May be nil.
	Lost func(peer int, cause error)
	// Release is told that memory this rank handed over came back; off is the Addr
	// of its key. Called with the engine's lock held: it must not call the engine.
	Release func(off uint64)
}
