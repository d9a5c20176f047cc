package iwarp

import (
	"fmt"
	"net/netip"
	"sync/atomic"

	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/mpa"
)

// nudgesMax is the maximum number of zero-length Writes (nudges) that the active side sends to a
// silent peer of another implementation. The first nudge follows after Config.Pause. The time
// before each further nudge is twice the time before the previous one.
const nudgesMax = 3

// silent is called when the timer that await has set is due. If an FPDU of the peer has arrived
// meanwhile, silent does nothing.
//
// On the active side, silent sends a zero-length RDMA Write. The reason is that the kernel's siw
// loses a wake-up if a segment arrives between its reply and the end of siw_accept (siw_cm.c).
// siw_accept installs the callback only after the reply. If the wake-up is lost, the data stay in
// the peer's socket until more data arrive. The Write is the additional data. The Write places no
// bytes, so its STag may have any value (RFC 5041 section 5.2). The peer's consumer does not see
// the Write.
//
// On the passive side, silent allows this side to send the first message if the peer has connected
// with revision 2 but without an RTR. The reason is that siw offers no RTR when it connects, and
// that siw sends without waiting for an FPDU when it has accepted. Consumers may rely on this
// behaviour: the active consumer may wait for a message of the passive consumer. If this side
// waited for the first FPDU, both sides would wait for each other forever. RFC 5044 section 7.1.2
// makes the passive side wait, so that the active side has time to complete its set-up.
// Config.Pause gives the peer this time. If the peer has connected with revision 1, silent only logs
// that messages wait.
func (p *queuePair) silent() {
	switch {
	case p.rx.first:
		return
	case p.active:
		if !p.tx.message.active && p.tx.rtr == 0 { // otherwise this side is already sending data
			p.tx.rtr = mpa.RTRWrite
		}
		if p.nudges--; p.nudges > 0 {
			p.device.setTimer(&p.timer, p.device.config.Pause<<(nudgesMax-p.nudges))
		}
	case p.agreed.Enhanced:
		p.tx.held = false
	case p.config.Sends.Len() > 0:
		p.nudges = 0
		p.device.provider.log.Log(fmt.Sprintf("iwarp: messages to %v wait: it has connected with MPA revision 1, with which it must send first, but it has sent nothing", p.remote))
	}
	p.transmit()
}

// await starts the timer for the first FPDU of a peer that may itself wait for an FPDU of this
// side.
func (p *queuePair) await() {
	if p.nudges > 0 && p.timer.place == 0 {
		p.device.setTimer(&p.timer, p.device.config.Pause)
	}
}

// stranger counts a connection that was dropped without an acceptable MPA request. Only the first such
// connection of a provider is logged, because a port scan must not fill a log.
func (d *device) stranger(counter *atomic.Uint64, from netip.AddrPort, why string) {
	counter.Add(1)
	d.provider.strange.Do(func() {
		d.provider.log.Log(fmt.Sprintf("iwarp: a connection from %v was dropped: %s; further ones are only counted", from, why))
	})
}
