package rdma

import "time"

// pace spares the adapter, whose look at its sockets costs a system call, where a
// faster transport is polled beside it: after a look that found nothing some time
// goes by without one. It is a part of how long nothing was found already, so that an
// answer that is due soon is found soon, until looks are a small share of the time.
//
// Time is measured, because polls differ by a factor of a thousand between a rank that
// spins and one that yields its processor at every poll. But a look at the clock costs
// more than a poll, so between two of them some polls are only counted: as many as
// take the time that is left, and never so many that a rank whose polls became long
// meanwhile would notice.
type pace struct {
	companion bool
	// wait is how many polls go by before the clock is read, counted how many did since
	// it was.
	wait, counted int
	// read is when the clock was, found when a look last found something, looked when
	// the last look ended; span is how long none follows. All are measured from base.
	base                time.Time
	read, found, looked time.Duration
	span                time.Duration
}

const (
	// lookShare is the part of the time that looks of an idle adapter may take: one in
	// so many. A look of 0.3 us, which is what an idle adapter takes, is then repeated
	// after 15 us, about as long as a small message takes through TCP both ways.
	lookShare = 50
	// quietShare bounds the time until the next look: to one in so many of the time
	// that has passed without anything found.
	quietShare = 8
	// countMax bounds the polls that are only counted.
	countMax = 64
)

// skips counts a poll, and reports whether it is one that only counts.
func (p *pace) skips() bool {
	if p.wait == 0 {
		return false
	}
	p.wait--
	p.counted++
	return true
}

// due reports whether this poll looks at the adapter. now is the time.
func (p *pace) due(now time.Duration) bool {
	left := p.looked + p.span - now
	polls := p.counted + 1
	each := max((now-p.read)/time.Duration(polls), 1)
	p.read, p.counted = now, 0
	if left <= 0 {
		return true
	}
	p.wait = int(min(left/each, countMax))
	return false
}

// now is the time.
func (p *pace) now() time.Duration {
	if p.base.IsZero() {
		p.base = time.Now()
	}
	return time.Since(p.base)
}

// note takes how much a look has found that went on from began to ended.
func (p *pace) note(found int, began, ended time.Duration) {
	p.looked, p.read, p.wait, p.counted = ended, ended, 0, 0
	if found > 0 {
		p.found = ended
	}
	p.span = min((ended-p.found)/quietShare, lookShare*(ended-began))
}
