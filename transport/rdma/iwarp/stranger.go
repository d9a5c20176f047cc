package iwarp

import (
	"fmt"
	"net/netip"
	"sync/atomic"

	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/mpa"
)

// nudgesMax is how often a peer of another kind is nudged, at the Pause and each time
// after twice as long.
const nudgesMax = 3

// silent acts if a peer of another implementation has sent nothing since its connection was
// established.
//
// The kernel's siw loses a wake-up when a segment comes between its reply and the end of
// siw_accept (siw_cm.c), which installs the callback after it: the data lie in the socket
// until more comes. A zero-length RDMA Write places nothing, whatever its STag
// (RFC 5041 section 5.2), and the consumer there does not see it.
//
// A siw that connects offers no RTR, and siw that accepts sends without waiting for an
// FPDU; consumers that follow these rules would wait for each other for
// ever. RFC 5044 section 7.1.2 makes the passive side wait so that the other one has
// time to complete its set-up: a peer of revision 2 that offered no RTR gets the Pause
// for that.
func (p *queuePair) silent() {
	switch {
	case p.rx.first:
		return
	case p.active:
		if !p.tx.message.active && p.tx.rtr == 0 { // else more is on its way
			p.tx.rtr = mpa.RTRWrite
		}
		if p.nudges--; p.nudges > 0 {
			p.device.setTimer(&p.timer, p.device.config.Pause<<(nudgesMax-p.nudges))
		}
	case p.agreed.Enhanced:
		p.tx.held = false
	case p.config.Sends.Len() > 0:
		p.nudges = 0
		p.device.provider.log.Log(fmt.Sprintf("iwarp: messages to %v wait: it has connected with MPA revision 1, where it has to send first, and is silent", p.remote))
	}
	p.transmit()
}

// await begins to wait for the first FPDU of a peer that may be waiting for ours.
func (p *queuePair) await() {
	if p.nudges > 0 && p.timer.place == 0 {
		p.device.setTimer(&p.timer, p.device.config.Pause)
	}
}

// stranger counts a dropped connection that was not made by a peer. Only the first one of a
// provider is logged: a port scan must not fill a log.
func (d *device) stranger(counter *atomic.Uint64, from netip.AddrPort, why string) {
	counter.Add(1)
	d.provider.strange.Do(func() {
		d.provider.log.Log(fmt.Sprintf("iwarp: a connection from %v was dropped: %s; more of that kind are counted in silence", from, why))
	})
}
