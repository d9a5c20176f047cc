package progress

// A burst is a sequence of polls between two checks of the clock and of other goroutines. These
// are the numbers of polls without success that end a burst.
const (
	burstSpinning = 64 // takes about a microsecond
	burstTogether = 16 // takes longer than the answer of a rank that has a processor
	burstUnknown  = 8
	burstTrial    = 48 // takes longer than a switch to another process and the answer of that process
	burstAway     = 1
	burstRemote   = 2 // takes longer than a yield when no other process is ready to run
)

// BurstMost is the largest number of polls of a burst. First and Next count only polls without
// success, so a burst whose polls find something needs a bound, too.
const BurstMost = burstSpinning

// trialEvery determines the frequency of trials (see Burst). Of trialEvery waits for ranks that are
// away, one begins with a trial.
const trialEvery = 32

// Peer is the poller's knowledge of the rank that it waits for.
type Peer uint8

const (
	// Unknown means that the rank may have a processor or not, or the wait is for any of several ranks.
	Unknown Peer = iota
	// There means that the rank has not offered its processor to other processes.
	There
	// Away means that the rank has offered its processor to other processes or sleeps.
	Away
	// Word means that the wait is for a word of shared memory. The process that changes the word may need
	// the processor that polling takes.
	Word
	// Remote means that the rank is reached through a network. One poll of a network may take as long as a
	// burst of polls of shared memory, because it may make system calls. If the policy is to spin, Remote is only
	// used for networks whose polls do make system calls.
	Remote
)

// Burst decides how often a poller polls before it lets other processes run.
//
// If ranks outnumber processors, the peer for which a poller waits may have a processor or not. If the
// peer has a processor, its answer comes soon, and both ranks should keep their processors, because then a
// message costs no switch to another process. If the peer has no processor, each poll delays the answer.
// Suppose that two ranks have run alternately. They begin to run at the same time if one of them
// polls for longer than the other rank takes to get a processor and to answer. Such a long burst is
// a trial.
type Burst struct {
	spins bool // the policy is to spin: it only matters whether the Peer is Remote
	away  uint // number of waits that began while the peer was away
}

// Start sets the policy.
func (b *Burst) Start(p Policy) { b.spins = p.Spin > 0 }

// First returns the number of polls without success that end the first burst of a wait.
func (b *Burst) First(p Peer) int {
	if b.spins || p != Away {
		return b.Next(p)
	}
	if b.away++; b.away%trialEvery == 0 {
		return burstTrial
	}
	return burstAway
}

// Next returns the number of polls without success that end any later burst of a wait.
func (b *Burst) Next(p Peer) int {
	switch {
	case b.spins && p == Remote:
		return burstRemote
	case b.spins:
		return burstSpinning
	case p == There:
		return burstTogether
	case p == Away, p == Word, p == Remote:
		return burstAway
	}
	return burstUnknown
}

// Spins reports whether the policy is to spin. If it is, First and Next only depend on whether the Peer is Remote.
func (b *Burst) Spins() bool { return b.spins }
