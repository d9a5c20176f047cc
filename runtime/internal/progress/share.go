package progress

import "time"

// Share finds out whether a rank shares its processor with processes of which the job does not know: ranks in other
// containers, other jobs, other programs. The sign is the duration of a yield. If no other process can run, a yield
// takes a fraction of a microsecond. Otherwise it takes as long as the other process runs. While the processor is
// shared, the rank does not spin, and yields for long before it sleeps. The reason is that a process that wakes up
// gets a processor later than a process that has yielded.
//
// Some kernel schedulers do not let a process of another control group run at a yield. Then all yields are short,
// and Share changes nothing.
type Share struct {
	alone  Policy // for a processor of its own; if it does not spin, Share does nothing
	score  int
	shared bool
}

const (
	// yieldedLong is the shortest duration of a yield that has let another process run. A switch to another process
	// and back takes about 1.5 us, a yield without a switch 0.25 us.
	yieldedLong = time.Microsecond
	// yieldedSlice is the shortest duration of a yield to a process that does not yield back, but computes until its
	// time slice ends. A rank that yields to such a process loses milliseconds, so that spinning is better.
	yieldedSlice = 500 * time.Microsecond
	// A long yield adds scoreLong to the score, a short one subtracts 1. The processor becomes shared when the
	// score reaches scoreMost, after some long yields in short succession, and free when it reaches 0.
	scoreLong, scoreMost = 16, 64
	// YieldsMost bounds the time for which a waiting rank yields in place of sleeping, if other processes run.
	YieldsMost = 10 * time.Millisecond
)

// Start sets the policy for a processor of its own.
func (s *Share) Start(alone Policy) { *s = Share{alone: alone} }

// Watches reports whether Yielded needs the duration of each yield.
func (s *Share) Watches() bool { return s.alone.Spin > 0 }

// Policy returns the policy to apply.
func (s *Share) Policy() Policy {
	if s.shared {
		return Policy{Yield: s.alone.Yield}
	}
	return s.alone
}

// Extends reports whether a yield of duration d proves that yields give other processes the shared processor. If
// so, the wait goes on as if it began now, and the rank does not sleep yet.
func (s *Share) Extends(d time.Duration) bool {
	return s.shared && d >= yieldedLong && d < yieldedSlice
}

// Yielded takes the duration of a yield, and reports whether Policy has changed.
func (s *Share) Yielded(d time.Duration) bool {
	was := s.shared
	switch {
	case d < yieldedLong:
		s.score = max(0, s.score-1)
	case d < yieldedSlice:
		s.score = min(scoreMost, s.score+scoreLong)
	default:
		s.score = 0
	}
	s.shared = s.score == scoreMost || s.shared && s.score > 0
	return s.shared != was
}
