package progress

// Polls of a burst: between two checks of the clock and of other goroutines.
const (
	burstSpinning = 64 // about a microsecond
	burstTogether = 16 // longer than the answer of a rank that runs takes
	burstUnknown  = 8
	burstTrial    = 48 // longer than it takes to switch to another process, which answers
	burstAway     = 1
)

// BurstMost is how many polls a burst has at most if some of them find something: these do not count in First and
// Next.
const BurstMost = burstSpinning

// trialEvery is every how many waits for a rank that is away there is a trial.
const trialEvery = 32

// Peer is what a poller knows of the rank that it waits for.
type Peer uint8

// Unknown is a rank that may have a processor or not, or any of several ranks. One that is Away has offered its
// processor to others, one that is There has not. Word is whoever changes a word of shared memory, and may need
// the processor that polling takes.
const (
	Unknown Peer = iota
	There
	Away
	Word
)

// Burst is how often a poller polls before it lets other processes run.
//
// Where ranks outnumber processors, the rank that a poller waits for may have a processor or not. If it has,
// its answer comes soon, and both should keep their processors: then a message costs no switch to another
// process. If it has none, each poll delays it. Ranks that do not run at the same time begin to
// when one of them polls for longer than the other one takes to come back and to answer: that is a trial.
type Burst struct {
	spins bool
	away  uint // waits that began while the peer was away
}

// Start sets the policy.
func (b *Burst) Start(p Policy) { b.spins = p.Spin > 0 }

// First returns how many polls a wait begins with.
func (b *Burst) First(p Peer) int {
	if b.spins || p != Away {
		return b.Next(p)
	}
	if b.away++; b.away%trialEvery == 0 {
		return burstTrial
	}
	return burstAway
}

// Next returns how many polls follow a yield.
func (b *Burst) Next(p Peer) int {
	switch {
	case b.spins:
		return burstSpinning
	case p == There:
		return burstTogether
	case p == Away, p == Word:
		return burstAway
	}
	return burstUnknown
}

// Spins reports whether a poller polls for a while in any case, so that First and Next need no Peer.
func (b *Burst) Spins() bool { return b.spins }
