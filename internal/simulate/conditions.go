package simulate

import (
	"fmt"
	"time"
)

// Conditions are what a network and its ranks are like. A seed draws them; a test may set
// them.
type Conditions struct {
	// Caps of every endpoint, once it is connected.
	MaxEager, EagerBest, MaxReads int
	Get, Put, Batched             bool

	// Alone says that the memory of a peer is reached without a Poll of its rank.
	Alone bool

	// Latency is the shortest time of a message under way, Jitter the maximum of the random
	// time added to it.
	Latency, Jitter time.Duration
	// StallRate is the chance that a message takes up to Stall longer.
	StallRate float64
	Stall     time.Duration
	// Connect is the longest time until a connection is established.
	Connect time.Duration
	// BreakRate is the chance that a message finds its connection lost. Nothing is sent
	// between the two ranks then for up to Outage; what was under way arrives afterwards.
	BreakRate float64
	Outage    time.Duration

	// Lane is how many messages one lane holds.
	Lane int
	// AgainRate is the chance that an operation is refused with ErrAgain, as are those
	// that follow for up to AgainFor.
	AgainRate float64
	AgainFor  time.Duration

	// Budget is a rank's memory for unexpected messages.
	Budget int64
	// Slow ranks wake up late, by up to Lag.
	Slow map[int]bool
	Lag  time.Duration
	// EarlyWake is the chance that a sleep ends at once.
	EarlyWake float64

	// Launcher says that there is one: it reports deaths, and decides agreements. What ranks and
	// the launcher say to each other takes as long as a message of ranks.
	Launcher bool

	// Deaths end ranks, in this order.
	Deaths []Death
	// Restarts is how often a rank that has died is started again, as with gorun -on-failure respawn=N.
	Restarts int
	// Flaw makes the network break its contract, so that a test sees that this is found.
	Flaw Flaw
}

// Flaw is what a network does wrong, now and then.
type Flaw int

// The flaws.
const (
	Sound   Flaw = iota
	Loses        // a message is lost
	Doubles      // a message is handed over twice
	Swaps        // two messages of a pair are handed over in the wrong order
	Deaf         // an arrival does not ring
)

// flawRate is how often a flaw shows.
const flawRate = 0.05

// Death is the end of a rank, once. One that has left its program does not die.
type Death struct {
	Rank int
	// Event is the number of the event of the network at which it ends.
	Event int
	// Notice is the longest time until another rank is notified.
	Notice time.Duration
	// Lossy says that messages under way may be lost with the rank.
	Lossy bool
}

// Draw returns the conditions that belong to a seed. mortal says that a rank may die.
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
