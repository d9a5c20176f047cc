package progress

import "time"

// Share finds out whether a rank shares its processor with processes that the job does not know: ranks in other
// containers, other jobs, other programs. The sign is the duration of a yield. If no other process can run, a yield
// takes a fraction of a microsecond. Otherwise the yield lasts until the other process gives the processor back.
// While the processor is shared, the rank does not spin, and yields for up to about YieldsMost before it sleeps. The
// reason is that a process that wakes up gets a processor later than a process that has yielded.
//
// Some kernel schedulers do not let a process of another control group run at a yield. Then all yields are short,
// and Share does not notice that process.
type Share struct {
	alone  Policy // the policy while the processor is not shared; if it does not spin, shared is always false
	score  int
	shared bool
	// slices is greater than 0 after a yield to a process that computes, until enough other yields have followed.
	slices int
}

const (
	// yieldedLong is the shortest duration of a yield that has let another process run. A switch to another process
	// and back takes about 1.5 us, a yield without a switch 0.25 us.
	yieldedLong = time.Microsecond
	// yieldedSlice is the shortest duration of a yield to a process that does not yield back, but computes until its
	// time slice ends. A yield to such a process costs milliseconds. Therefore the rank spins in this case.
	yieldedSlice = 500 * time.Microsecond
	// A long yield adds scoreLong to the score, a short one subtracts 1. The processor counts as
	// shared from the time when the score reaches scoreMost, after some long yields in short succession, until the
	// score is 0 again.
	scoreLong, scoreMost = 16, 64
	// slicesMost is the number of shorter yields after which a yield of yieldedSlice or more is forgotten.
	slicesMost = 64
	// remoteLonger is the factor by which a rank polls longer before it sleeps if it waits for a Remote peer. A rank
	// that sleeps leaves its processor idle, but the kernel seldom moves a rank from a shared processor to this idle
	// one. A larger factor is worse: sometimes the kernel does not let a process of another control group run for
	// milliseconds, however often a rank yields. A sleep ends such a state.
	remoteLonger = 3
	// YieldsMost bounds the effect of Extends: when a wait has lasted for YieldsMost, the caller does not use Extends
	// any more.
	YieldsMost = 10 * time.Millisecond
)

// Start resets s. The argument is the policy while the rank does not share its processor.
func (s *Share) Start(alone Policy) { *s = Share{alone: alone} }

// Watches reports whether Yielded needs the duration of each yield.
func (s *Share) Watches() bool { return s.alone.Spin > 0 }

// Policy returns the policy to apply in a wait for p.
func (s *Share) Policy(p Peer) Policy {
	switch {
	case s.shared:
		return Policy{Yield: s.alone.Yield}
	case p == Remote && s.slices == 0 && s.alone.Spin > 0:
		return Policy{Yield: remoteLonger * (s.alone.Spin + s.alone.Yield)}
	}
	return s.alone
}

// Extends reports whether a yield of duration d shows that another process has run and has given the shared
// processor back. If so, the caller restarts the time after which the rank sleeps, but see YieldsMost.
func (s *Share) Extends(d time.Duration) bool {
	return s.shared && d >= yieldedLong && d < yieldedSlice
}

// Yielded takes the duration of a yield, and reports whether the result of Policy may have changed.
func (s *Share) Yielded(d time.Duration) bool {
	was, computed := s.shared, s.slices > 0
	s.slices = max(0, s.slices-1)
	switch {
	case d < yieldedLong:
		s.score = max(0, s.score-1)
	case d < yieldedSlice:
		s.score = min(scoreMost, s.score+scoreLong)
	default:
		s.score, s.slices = 0, slicesMost
	}
	s.shared = s.score == scoreMost || s.shared && s.score > 0
	return s.shared != was || s.slices > 0 != computed
}
