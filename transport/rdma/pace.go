package rdma

import "time"

// pace limits how often an adapter is polled if a faster transport, or an earlier rail, is polled as
// well. In this file a look asks the adapter for completions, and a poll is a call of Transport.Poll.
//
// A look at an adapter over TCP costs a system call. After a look that has found no event, there is no
// look for some time, called the span. The span is a fraction of the time since the last event, so that
// an answer that arrives soon is found soon. The span grows until the looks take a small share of the
// time.
//
// The span is measured by the clock and not in polls, because the duration of polls differs widely.
// A poll of a rank that yields its processor at every poll takes a thousand times as long as a poll
// of a rank that spins. But reading the clock costs more than a poll. So between two readings of
// the clock some polls are only counted. Their number is an estimate of the polls in the rest of
// the span. It is at most countMax, so that the delay stays short if the polls of the rank become
// longer.
type pace struct {
	companion bool
	// wait is the number of polls to count before the clock is read again. counted is the number of
	// polls that were counted since the clock was read.
	wait, counted int
	// read is the time at which the clock was last read. found is the time of the last look that
	// found an event. looked is the time of the end of the last look. span is the time after looked
	// in which there is no look. All times are results of Transport.now.
	read, found, looked time.Duration
	span                time.Duration
}

const (
	// The span is at most lookShare times the duration of the last look. So looks at an adapter that has
	// been idle for long take about the share 1/lookShare of the time. A look at an idle adapter takes
	// 0.3 us. So the next look follows after at most 15 us, which is about the round-trip time of a small
	// message through TCP.
	lookShare = 50
	// The span is at most 1/quietShare of the time since the last event.
	quietShare = 8
	// countMax is the maximum number of polls that are only counted between two readings of the clock.
	countMax = 64
)

// skips reports whether this poll is only counted. If skips returns true, it has counted the poll.
func (p *pace) skips() bool {
	if p.wait == 0 {
		return false
	}
	p.wait--
	p.counted++
	return true
}

// due reports whether this poll has to look at the adapter. now is the current time. If due returns
// false, due sets the number of polls to count.
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

// note records a look. found is the number of events that the look found. began and ended are the
// times at which the look began and ended.
func (p *pace) note(found int, began, ended time.Duration) {
	p.looked, p.read, p.wait, p.counted = ended, ended, 0, 0
	if found > 0 {
		p.found = ended
	}
	p.span = min((ended-p.found)/quietShare, lookShare*(ended-began))
}
