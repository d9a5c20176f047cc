package rdma

import "time"

// pace spares the adapter, whose look at its sockets costs a system call, where a
// faster transport is polled beside it: after a look that found nothing some polls
// go by without one, twice as many each time, until looks are a small share of the
// time. How many that is is measured: what a look takes, and how long the polls
// between two looks took. It differs by a factor of a hundred between a rank that
// spins and one that yields its processor at every poll.
type pace struct {
	companion bool
	// skip is how many polls go by after this look, wait how many of them are left.
	skip, wait int
	// looked is when the last look ended, as measured from base.
	base   time.Time
	looked time.Duration
}

const (
	// lookShare is the part of the time that looks of an idle adapter may take: one in
	// so many. Beside shared memory, where a message takes some 200 ns, a look of a
	// microsecond would be felt more often.
	lookShare = 20
	// skipMax bounds the polls without a look.
	skipMax = 2048
)

// due reports whether this poll looks at the adapter.
func (p *pace) due(events int) bool {
	if !p.companion || events > 0 {
		return true
	}
	if p.wait > 0 {
		p.wait--
		return false
	}
	return true
}

// now is the time for note, 0 where nothing is measured.
func (p *pace) now() time.Duration {
	if !p.companion {
		return 0
	}
	return p.clock()
}

// clock is the time since it was first asked.
func (p *pace) clock() time.Duration {
	if p.base.IsZero() {
		p.base = time.Now()
	}
	return time.Since(p.base)
}

// note takes how much a look has found that went on from began to ended.
func (p *pace) note(found int, began, ended time.Duration) {
	between := began - p.looked
	p.looked = ended
	if found > 0 || !p.companion {
		p.skip, p.wait = 0, 0
		return
	}
	// A poll between two looks took between/(skip+1).
	enough := lookShare * int64(ended-began) * int64(p.skip+1) / max(int64(between), 1)
	p.skip = int(min(int64(max(2*p.skip, 1)), enough, skipMax))
	p.wait = p.skip
}
