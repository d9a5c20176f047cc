package rdma

// pace spares the adapter, whose look at its sockets costs a system call, where a
// faster transport is polled beside it: after a look that found nothing some polls
// go by without one, twice as many each time.
type pace struct {
	companion  bool
	skip, wait int
}

// skipMax is the most polls in a row without a look at the adapter. A poll of shared
// memory takes some 20 ns and a look at an idle adapter about a microsecond, so that
// looks are a few percent of the time, and an arrival waits a microsecond or two.
const skipMax = 64

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

// note takes how much a look has found.
func (p *pace) note(found int) {
	if found > 0 {
		p.skip = 0
	} else {
		p.skip = min(max(2*p.skip, 1), skipMax)
	}
	p.wait = p.skip
}
