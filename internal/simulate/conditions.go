package simulate

import (
	"fmt"
	"time"
)

// Conditions are the properties of a simulated network and its ranks. Draw draws them from a seed;
// a test may set them.
type Conditions struct {
	// MaxEager, EagerBest, MaxReads, Get, Put and Batched set fields of transport.Caps at every endpoint.
	// Get, Put and MaxReads take effect when the endpoint is connected. Batched sets the field CostlySend.
	// EagerBoth is half of EagerBest.
	MaxEager, EagerBest, MaxReads int
	Get, Put, Batched             bool

	// Alone is true if Gets and Puts reach the memory of a peer without a Poll of the peer.
	Alone bool

	// Latency is the shortest time that a message is in flight. Jitter is the maximum of the random time that
	// is added to Latency.
	Latency, Jitter time.Duration
	// StallRate is the probability that a message takes longer, by up to Stall.
	StallRate float64
	Stall     time.Duration
	// Connect is the longest time until a connection is established.
	Connect time.Duration
	// BreakRate is the probability that the connection is lost when a message is sent or a Get or Put begins.
	// After the loss, no message arrives and no operation is accepted between the two ranks for up to Outage.
	// Messages that were in flight arrive afterwards.
	BreakRate float64
	Outage    time.Duration

	// Lane is the maximum number of messages in one lane.
	Lane int
	// AgainRate is the probability that an operation is refused with ErrAgain. The operations that
	// follow at the same endpoint are refused, too, for up to AgainFor.
	AgainRate float64
	AgainFor  time.Duration

	// Budget is the limit in bytes of a rank's memory for unexpected messages.
	Budget int64
	// Slow has the ranks that wake up late. They wake up late by up to Lag.
	Slow map[int]bool
	Lag  time.Duration
	// EarlyWake is the probability that a sleep ends at once.
	EarlyWake float64

	// Launcher is true if the job has a launcher. The launcher reports deaths and decides agreements.
	// Messages between a rank and the launcher take as long as messages between ranks.
	Launcher bool

	// Deaths are the ends of ranks, in the order in which they happen.
	Deaths []Death
	// Restarts is the number of restarts in the job, as with gorun -on-failure respawn=N.
	Restarts int
	// Flaw makes the network break its contract, so that a test can check that the programs detect the flaw.
	Flaw Flaw
}

// Flaw is a way in which a network sometimes violates the contract of package transport.
type Flaw int

// The flaws.
const (
	Sound   Flaw = iota // none
	Loses               // a message is lost
	Doubles             // a message is delivered twice
	Swaps               // two messages from one rank to another are delivered in the wrong order
	Deaf                // the arrival of a message does not wake the rank
)

// flawRate is the probability that a message is delivered with the flaw.
const flawRate = 0.05

// Death is one end of a rank. A rank that has left its program does not die.
type Death struct {
	Rank int
	// Event is the number of the network's event at which the rank dies.
	Event int
	// Notice is the longest time from the arrival of the dead rank's last message until another rank is
	// notified of the death. If Lossy is true, the time may instead count from the death.
	Notice time.Duration
	// Lossy is true if messages of the rank that are in flight may be lost.
	Lossy bool
}

// Draw returns the conditions of a seed. mortal reports whether a rank may die.
func Draw(seed int64, ranks int, mortal bool) Conditions {
	r := stream(seed, streamConditions)
	c := Conditions{
		MaxEager: Pick(r, 256, 1024, 4096, 16384), MaxReads: Pick(r, 1, 2, 8),
		Get: Chance(r, 0.8), Alone: Chance(r, 0.7), Put: Chance(r, 0.3), Batched: Chance(r, 0.5),
		Latency: Pick(r, time.Microsecond, 10*time.Microsecond, time.Millisecond),
		Jitter:  Pick(r, 0, 2*time.Microsecond, 100*time.Microsecond, 20*time.Millisecond),
		Connect: Pick(r, 0, 50*time.Microsecond, 30*time.Millisecond),
		Lane:    Pick(r, 1, 2, 8, 64),
		Budget:  int64(Pick(r, 4<<10, 8<<10, 64<<10, 64<<20) * ranks),
		Slow:    map[int]bool{},
	}
	c.EagerBest = Pick(r, c.MaxEager, c.MaxEager/2, 64)
	if Chance(r, 0.3) {
		c.StallRate, c.Stall = Pick(r, 0.001, 0.02), Pick(r, time.Millisecond, 200*time.Millisecond)
	}
	if Chance(r, 0.4) {
		c.AgainRate, c.AgainFor = Pick(r, 0.02, 0.3), Pick(r, 5*time.Microsecond, 500*time.Microsecond)
	}
	if Chance(r, 0.4) {
		c.BreakRate, c.Outage = Pick(r, 0.002, 0.03), Pick(r, 100*time.Microsecond, 2*time.Second)
	}
	if Chance(r, 0.4) {
		c.Lag = Pick(r, 30*time.Microsecond, 3*time.Millisecond)
		c.Slow[r.IntN(ranks)] = true
	}
	if Chance(r, 0.3) {
		c.EarlyWake = 0.1
	}
	if mortal && ranks > 1 {
		c.Deaths = []Death{{
			Rank: r.IntN(ranks), Event: Pick(r, r.IntN(20), r.IntN(200), r.IntN(2000)),
			Notice: Pick(r, 0, time.Millisecond, time.Second), Lossy: Chance(r, 0.5),
		}}
	}
	return c
}

// String lists the conditions in one line.
func (c Conditions) String() string {
	text := fmt.Sprintf("eager %d/%d, reads %d, get %v alone %v put %v batched %v, latency %v+%v, stall %v/%v, connect %v, break %v/%v, lane %d, again %v/%v, budget %d, slow %v by %v, early %v",
		c.EagerBest, c.MaxEager, c.MaxReads, c.Get, c.Alone, c.Put, c.Batched, c.Latency, c.Jitter, c.StallRate, c.Stall, c.Connect,
		c.BreakRate, c.Outage, c.Lane, c.AgainRate, c.AgainFor, c.Budget, c.Slow, c.Lag, c.EarlyWake)
	for _, d := range c.Deaths {
		text += fmt.Sprintf(", rank %d dies at event %d, noticed in %v, lossy %v", d.Rank, d.Event, d.Notice, d.Lossy)
	}
	return text
}
