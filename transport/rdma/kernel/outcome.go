package kernel

import (
	"net/netip"
	"time"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// quietMost is the maximum time for which the passive side of an iWARP connection holds its
// requests back while no message of the active side has arrived. siw, as the active side, ends a
// connection if data arrives together with the MPA reply (siw_recv_mpa_rr). The passive side cannot
// find out when siw has consumed the reply.
const quietMost = 50 * time.Millisecond

// outcome is a queue pair in its role as the receiver of the upcalls about its connection.
type outcome queuePair

var _ provider.Upcalls = (*outcome)(nil)

// Established implements provider.Upcalls.
func (o *outcome) Established(answer *provider.Proposal, local, remote netip.AddrPort) error {
	p := (*queuePair)(o)
	p.receiving = true
	if answer == nil && p.device.attributes.ActiveSpeaksFirst {
		p.isQuiet, p.quietUntil = true, time.Now().Add(quietMost)
		p.device.quiet = append(p.device.quiet, p)
		p.device.wake() // a goroutine that is already in Sleep does not know of quietUntil
	}
	if err := p.config.Upcalls.Established(answer, local, remote); err != nil {
		return err
	}
	p.established = true
	if p.ending { // the queue pair failed before the connection was established
		p.device.broken = append(p.device.broken, p)
	}
	early := p.early
	p.early = nil
	p.device.report(early)
	return nil
}

// Failed implements provider.Upcalls.
func (o *outcome) Failed(why provider.Failure, privateData []byte, err error) {
	o.failed = true
	o.config.Upcalls.Failed(why, privateData, err)
}

// Disconnected implements provider.Upcalls.
func (o *outcome) Disconnected() {
	o.failed = true
	o.config.Upcalls.Disconnected()
}

// Broken implements provider.Upcalls.
func (o *outcome) Broken(err error) {
	o.failed = true
	o.config.Upcalls.Broken(err)
}

// speak ends the time in which requests are held back (isQuiet), and posts these requests.
func (p *queuePair) speak() {
	p.isQuiet = false
	p.RequestsPosted()
}

// speak calls queuePair.speak for the queue pairs whose time quietUntil has passed. It removes from
// device.quiet all queue pairs that do not hold requests back any more.
func (d *device) speak(now time.Time) {
	left := d.quiet[:0]
	for _, p := range d.quiet {
		switch {
		case !p.isQuiet || p.failed:
		case now.Before(p.quietUntil):
			left = append(left, p)
		default:
			p.speak()
		}
	}
	clear(d.quiet[len(left):])
	d.quiet = left
}
